package differential

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// podsDenied is the prefix of the warning about a workload whose pods will be
// denied.
const podsDenied = "its pods will be denied: "

// outcome returns the cluster's result for a scene. injected is the object with
// what its pods get, whose names identify the fields in findings.
func (c *cluster) outcome(ctx context.Context, p *played, injected object, known *catalogue) *outcome {
	o := &outcome{Reasons: map[string]string{}, asked: map[string]bool{}}
	if p.refused() {
		o.Failed = "the API server refuses the object: " + p.Message
		return o
	}
	if p.Object != nil && p.scene.kind() == "Pod" {
		injected = p.Object
	}
	place := func(field, message string) string { return placed(field, message, p.scene.Object, injected) }
	stage := stageOf(p.DeniedBy())
	o.Denied = p.Object == nil
	for _, cause := range p.Causes {
		o.add(known.rule(stage, cause.Reason), ofNamespace(place(cause.Field, cause.Message), cause.Message), denies)
	}
	warned := false
	warnings, ofPod := p.Warnings, len(p.Warnings)
	if p.pod != nil && !controlled(p.scene.kind()) {
		warnings = append(warnings, p.pod.Warnings...) // for these, only the pods are sent to injection
	}
	for i, text := range warnings {
		rule, field, isFinding := known.finding(text)
		if i >= ofPod && field != "" {
			field = strings.Join(append(slices.Clone(templatePath[p.scene.kind()]), field), ".")
		}
		switch {
		case isServers(text):
		case leftOut(text) > 0:
			o.LeftOut = leftOut(text)
		case strings.HasPrefix(text, podsDenied):
			warned = true
		case isFinding:
			o.add(rule, place(field, text), warns)
		case p.scene.kind() == "Namespace" && strings.Contains(text, "inject.usher.dev/templates"):
			o.add("namespace-label", "metadata.labels[inject.usher.dev/templates]", warns)
		case p.scene.kind() == "Namespace" && strings.Contains(text, "inject.usher.dev/revision"):
			o.add("namespace-label", "metadata.labels[inject.usher.dev/revision]", warns)
		case p.scene.kind() == "ConfigMap":
			o.add("template-effect", cut(text), warns)
		default:
			o.add("inject-warning", cut(text), warns)
		}
	}
	audit := p.Audit
	if p.pod != nil && !controlled(p.scene.kind()) {
		audit = maps.Clone(audit)
		maps.Copy(audit, p.pod.Audit)
	}
	for key, value := range audit {
		webhook, what, _ := strings.Cut(key, "/")
		o.asked[stageOf(webhook)] = true
		switch {
		case stageOf(webhook) == "mandatory": // what was injected is there, it says
		case what == "templates" || what == "networks":
			for pair := range strings.SplitSeq(value, ",") {
				name, reason, _ := strings.Cut(pair, "=")
				key := strings.TrimSuffix(what, "s") + " " + name
				if known := o.Reasons[key]; known == "" || known == "already-injected" {
					o.Reasons[key] = reason // a second webhook of usher's is asked after the first has injected
				}
			}
		case what == "unseen":
			o.Unseen = true
		case what == "findings" && stageOf(webhook) == "policy":
			for _, f := range known.exempt(value) {
				o.add(f.Rule, place(f.Field, ""), exempt)
			}
		}
	}
	o.pods(p, warned, known)
	o.result(ctx, c, p)
	o.sort()
	return o
}

// pods adds the result for the workload's pod. A controller that does not run
// here would create its own Network.
func (o *outcome) pods(p *played, warned bool, known *catalogue) {
	o.PodsDenied = warned
	if p.pod == nil || p.scene.ownNetwork {
		return
	}
	stage := stageOf(p.pod.DeniedBy())
	denied := stage == "inject" || stage == "network" || stage == "mandatory"
	if denied != warned && controlled(p.scene.kind()) && (p.scene.Old == nil || o.asked[stage]) {
		o.add("pods-denied-without-warning-or-the-reverse", p.pod.Message, warns)
	}
	o.PodsDenied = denied
	prefix := strings.Join(templatePath[p.scene.kind()], ".") + "."
	for _, cause := range p.pod.Causes {
		if cause.Field != "" {
			cause.Field = prefix + cause.Field
		}
		if o.PodsDenied {
			o.add(known.rule(stage, cause.Reason), named(cause.Field, p.Object), deniesPods)
		}
	}
}

// controlled are the kinds of workloads that the API server sends to usher when
// they are applied.
func controlled(kind string) bool { return kind != "ReplicationController" && kind != "PodTemplate" }

// result completes the resulting pod.
func (o *outcome) result(ctx context.Context, c *cluster, p *played) {
	pod := p.Object
	if p.pod != nil {
		pod = p.pod.Object
	}
	if pod == nil || podOf(pod) == nil || p.scene.ownNetwork {
		return
	}
	if kind, _ := pod["kind"].(string); kind != "Pod" {
		return
	}
	o.resulting(ctx, c, pod)
}

// resulting completes a pod, and keeps the comparable part.
func (o *outcome) resulting(ctx context.Context, c *cluster, pod object) {
	completed, err := c.complete(ctx, normal(pod))
	if err != nil {
		o.Failed = err.Error()
		return
	}
	o.Pod = normal(completed)
}

// isServers reports whether a warning comes from the API server, which begins
// with a field that is not usher's own, or is about other objects in the cluster.
func isServers(text string) bool {
	return serversWarning.MatchString(text) && !strings.Contains(text, "(options.optOut)")
}

// normal removes what is specific to the cluster: a pod's identity and status,
// its scheduling, and the ServiceAccount's token, whose volume has a unique
// name in every pod. The API server completes every pod, so its defaults are
// comparable.
func normal(pod object) object {
	pod = clone(pod)
	n := core("Pod", "pod")
	n["spec"] = pod["spec"]
	for _, key := range []string{"labels", "annotations"} {
		if value := at(pod, "metadata")[key]; value != nil {
			into(n, "metadata")[key] = value
		}
	}
	for _, label := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"} {
		delete(at(n, "metadata", "labels"), label) // the API server's, of Jobs
	}
	spec := at(n, "spec")
	withoutToken(spec, "volumes")
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range items(spec, list) {
			withoutToken(container, "volumeMounts")
		}
	}
	return n
}

var serversWarning = regexp.MustCompile(`^(spec|metadata|template)[.\[]|^would violate PodSecurity|^unknown field|is deprecated|^Spec\.|^existing workloads would be denied|^would be denied by |^usher did not check every workload|^not tested against the API server within`)

func withoutToken(o object, list string) {
	var kept []any
	for _, item := range items(o, list) {
		if !strings.HasPrefix(nameOf(item), "kube-api-access-") {
			kept = append(kept, item)
		}
	}
	if delete(o, list); len(kept) > 0 {
		o[list] = kept
	}
}

// A catalogue knows usher's rules and reasons.
type catalogue struct {
	rules   map[string]bool
	rows    map[string]bool // of the transitions
	pattern *regexp.Regexp
}

// rule returns the id with which the command line reports a webhook's denial.
func (k *catalogue) rule(stage, reason string) string {
	switch stage {
	case "inject", "network", "mandatory":
		return "inject-" + reason
	case "namespaces.usher.dev":
		return "namespace-label"
	case "templates.inject.usher.dev":
		return "template-invalid"
	}
	return reason
}

var findingText = regexp.MustCompile(`^([a-z0-9-]+): ([^ ]*): `)

// finding parses a finding on one line: rule, field and message.
func (k *catalogue) finding(text string) (rule, field string, ok bool) {
	m := findingText.FindStringSubmatch(text)
	if m == nil || !k.rules[m[1]] && !k.rows[m[1]] {
		return "", "", false
	}
	return m[1], m[2], true
}

// exempt returns the exempt findings of an audit annotation. Messages may
// contain the separator, too.
func (k *catalogue) exempt(text string) []finding {
	var found []finding
	places := k.pattern.FindAllStringSubmatchIndex(text, -1)
	for i, at := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		if strings.Contains(text[at[0]:end], "(exempt: ") {
			found = append(found, finding{text[at[2]:at[3]], text[at[4]:at[5]], exempt})
		}
	}
	return found
}

// leftOut returns how many warnings the webhook dropped, from its last one.
func leftOut(text string) int {
	number, ok := strings.CutSuffix(text, " more warnings")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return 0
	}
	return n
}
