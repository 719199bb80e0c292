package differential

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// checked converts the result of usher check for a scene to that of the
// cluster. before are the findings of the old object, because only what a
// change introduces denies.
func checked(s *scene, found, before []told) *outcome {
	o := &outcome{}
	old := map[[2]string]int{}
	for _, t := range before {
		old[[2]string{t.Rule, t.Message}]++
	}
	for _, t := range found {
		if t.Refused || t.Rule == "warned-by-server" || t.Effect == "none" {
			continue // the API server judges it, or no level asks for it
		}
		if replicas := at(s.Object, "spec")["replicas"]; t.Rule == "deploy-hpa-replicas" && fmt.Sprint(replicas) == "1" {
			continue // the cluster cannot distinguish it from the default
		}
		field, e := placed(t.Field, t.Message, s.Object, s.Object), effect(strings.ReplaceAll(t.Effect, "-", " "))
		key := [2]string{t.Rule, t.Message}
		if e == denies && old[key] > 0 && !strings.HasPrefix(t.Rule, "inject-") {
			e = warns
		}
		old[key] = max(0, old[key]-1)
		switch t.Rule {
		case "inject-bad-value":
			field = ofNamespace(field, t.Message)
		case "inject-warning":
			if s.kind() == "Pod" && strings.HasPrefix(t.Message, refusedPods) {
				continue // the API server refuses the pod itself
			}
			field = ofThePod(s, t.Message)
		case "template-effect", "template-start-order", "template-conflict", "match-ends-itself":
			t.Rule, field = "template-effect", cut(t.Message)
		}
		o.add(t.Rule, field, e)
	}
	for _, f := range o.Findings {
		o.Denied = o.Denied || f.Effect == denies
		o.PodsDenied = o.PodsDenied || f.Effect == deniesPods
	}
	o.sort()
	return o
}

// injected converts the result of usher inject for a scene to that of the
// cluster.
func injected(ctx context.Context, c *cluster, s *scene, i *injection) *outcome {
	o := &outcome{Reasons: i.reasons, Unwritten: i.unwritten}
	for _, p := range i.problems {
		e := denies
		if s.kind() != "Pod" && !strings.Contains(ofNamespace(p.Field, p.Message), "/own-network") { // which denies the Deployment itself
			e = deniesPods
		}
		o.add("inject-"+p.Reason, ofNamespace(named(p.Field, s.Object), p.Message), e)
	}
	for _, warning := range i.warnings {
		if s.kind() == "Pod" && strings.HasPrefix(warning, refusedPods) {
			continue // the API server refuses the pod itself
		}
		if typo.MatchString(warning) {
			continue // only the command line shows probable typing errors
		}
		o.add("inject-warning", ofThePod(s, warning), warns)
	}
	if i.object != nil && podOf(i.object) != nil {
		pod := i.object
		if s.kind() != "Pod" {
			pod = podFrom(i.object)
		}
		o.resulting(ctx, c, pod)
	}
	o.sort()
	return o
}

// typo is a warning about a key that was probably meant to ask for a template.
var typo = regexp.MustCompile(`^(annotation|label) [^ ]+ of its pods(: usher reads annotations of pods, not labels| is not a key that usher reads| names a template that does not exist)`)

// refusedPods begins the prediction that the API server refuses the pods.
const refusedPods = "the pods will be refused"

// compareCheck compares the verdict and the findings of usher check with those
// of the cluster.
func compareCheck(s *scene, cluster, check *outcome) []difference {
	var found []difference
	if slices.ContainsFunc(cluster.Findings, takenOut) {
		return nil // a file does not show that a key was copied into it
	}
	if slices.ContainsFunc(cluster.Findings, func(f finding) bool { return f.Rule == "network-cluster-range" }) {
		return nil // files do not show the ranges of the cluster
	}
	begins := func(f finding) bool {
		return f.Effect == denies && strings.Contains(f.Field, "/own-network") || s.ownNetwork && f.stage() == attaching && (f.Effect == denies || f.Effect == deniesPods)
	}
	if s.Old != nil && !cluster.Denied && slices.ContainsFunc(check.Findings, begins) {
		return nil // check judges a file as it is created, and only a Deployment that is created begins with a Network of its own
	}
	want, got := comparable(cluster.Findings), comparable(check.Findings)
	// The API server stops at the first webhook that denies, so the cluster
	// reports nothing from later ones.
	first := firstStage(cluster)
	got = slices.DeleteFunc(got, func(f finding) bool { return f.stage() > first })
	got, want = ofPods(s, cluster, got), ofPods(s, cluster, want)
	if s.Old != nil && !cluster.asked["policy"] {
		// No judged field changed, so existing findings are not reported again.
		got = slices.DeleteFunc(got, func(f finding) bool { return f.Effect == warns && f.stage() == judging })
	}
	for _, f := range missing(want, got) {
		if cluster.LeftOut == 0 || f.Effect != warns {
			found = append(found, difference{"check misses a finding", f.Rule + " " + string(f.Effect), f.String(), list(got)})
		}
	}
	extra := missing(got, want)
	if cluster.LeftOut == 0 || len(extra) != cluster.LeftOut {
		for _, f := range extra {
			found = append(found, difference{"check has a finding more", f.Rule + " " + string(f.Effect), list(want), f.String()})
		}
	}
	denied, podsDenied := check.Denied, check.PodsDenied
	if s.Old != nil {
		denied = has(got, denies)
	}
	if s.Old != nil && !cluster.asked["inject"] {
		denied, podsDenied = has(got, denies), has(got, deniesPods)
	}
	said := verdict(denied, podsDenied)
	if denied = denied || first < judging && podsDenied; cluster.Denied != denied {
		found = append(found, difference{"check's verdict differs", s.kind(), verdict(cluster.Denied, cluster.PodsDenied), said})
	}
	if !cluster.Denied && cluster.PodsDenied != podsDenied {
		found = append(found, difference{"check's verdict about the pods differs", s.kind(), verdict(cluster.Denied, cluster.PodsDenied), said})
	}
	return found
}

// compareInject compares the reasons, the refusals and the resulting pod of usher
// inject with those of the cluster.
func compareInject(s *scene, cluster, inject *outcome) []difference {
	var found []difference
	ofInjection := func(f finding) bool { return !strings.HasPrefix(f.Rule, "inject-") }
	want := slices.DeleteFunc(comparable(cluster.Findings), ofInjection)
	got := comparable(inject.Findings)
	for i, f := range got {
		// inject prints the same for a denial of a Deployment that begins with a
		// Network of its own, and for a denial of its pods.
		denial := finding{f.Rule, f.Field, denies}
		if s.ownNetwork && f.Effect == deniesPods && slices.Contains(want, denial) {
			got[i] = denial
		}
	}
	first := firstStage(cluster)
	got = slices.DeleteFunc(got, func(f finding) bool { return f.stage() > first })
	got, want = ofPods(s, cluster, got), ofPods(s, cluster, want)
	if cluster.LeftOut == 0 {
		for _, f := range missing(want, got) {
			found = append(found, difference{"inject misses", f.Rule + " " + string(f.Effect), f.String(), list(got)})
		}
		for _, f := range missing(got, want) {
			found = append(found, difference{"inject has more", f.Rule + " " + string(f.Effect), list(want), f.String()})
		}
	}
	if inject.Failed != "" {
		return append(found, difference{"inject's result is refused", s.kind(), "", inject.Failed})
	}
	if cluster.Denied || cluster.PodsDenied || len(inject.problems()) > 0 {
		return found
	}
	if diff := cmp.Diff(cluster.Reasons, inject.Reasons); diff != "" && cluster.Reasons != nil {
		found = append(found, difference{"inject's reasons differ", reasons(cluster.Reasons) + "/" + reasons(inject.Reasons), fmt.Sprint(cluster.Reasons), fmt.Sprint(inject.Reasons)})
	}
	if diff := cmp.Diff(cluster.Pod, inject.Pod); diff != "" && cluster.Pod != nil && !inject.Unwritten {
		found = append(found, difference{"inject's pod differs", s.kind(), diff, ""})
	}
	return found
}

// ofNamespace returns the label of the namespace that a refusal without a field
// is about.
func ofNamespace(field, message string) string {
	const key = "samplecrd.k8s.io/own-network"
	if field == "" && strings.Contains(message, key) {
		return key
	}
	return field
}

// takenOut is the warning that a key is removed from the pod template, to which
// it had been copied.
func takenOut(f finding) bool {
	return f.Rule == "inject-warning" && strings.Contains(f.Field, "was removed from the workload's own metadata")
}

func has(findings []finding, e effect) bool {
	return slices.ContainsFunc(findings, func(f finding) bool { return f.Effect == e })
}

// problems returns the findings of injection that deny.
func (o *outcome) problems() []finding {
	return slices.DeleteFunc(slices.Clone(o.Findings), func(f finding) bool { return f.Effect != denies && f.Effect != deniesPods })
}

// ofPods returns findings with the denials of a denied object's pods: if its
// template is mandatory the object itself is denied for them, and if it is
// denied for something else no pod is tested.
func ofPods(s *scene, cluster *outcome, findings []finding) []finding {
	mandatory := firstStage(cluster) == injecting
	last := judging // the point of admission at which the pod is denied
	for _, f := range cluster.Findings {
		if f.Effect == deniesPods {
			last = f.stage()
		}
	}
	var kept []finding
	for _, f := range findings {
		switch {
		case f.Effect == deniesPods && s.ownNetwork && (!cluster.Denied || !mandatory):
			continue // the pod is not tested: no controller creates the Network here
		case s.Old != nil && !cluster.asked["inject"] && f.Effect == warns && f.stage() == injecting:
			continue // the change is not sent, so nothing is reported again
		case !controlled(s.kind()) && (cluster.Denied || cluster.PodsDenied) && f.Effect == warns && f.stage() < judging:
			continue // only the pod is sent, and a denial reports nothing else
		}
		if f.Effect == deniesPods {
			switch {
			case cluster.Denied && mandatory:
				f.Effect = denies
			case cluster.Denied, f.stage() > last:
				continue
			}
		} else if f.Effect == denies && f.stage() < judging && s.Old != nil && !cluster.asked["inject"] {
			if s.ownNetwork {
				continue
			}
			f.Effect = deniesPods // no relevant change for injection
		}
		kept = append(kept, f)
	}
	return kept
}

// comparable omits exempt findings: the cluster records them at any level, the
// command line only at the requested ones.
func comparable(findings []finding) []finding {
	var kept []finding
	for _, f := range findings {
		if f.Effect != exempt {
			kept = append(kept, f)
		}
	}
	return kept
}

// ofThePod returns a warning as the webhook writes it: of the pod where only the pods are
// sent to injection.
func ofThePod(s *scene, text string) string {
	if !controlled(s.kind()) {
		template := strings.Join(templatePath[s.kind()], ".") + "."
		text = strings.NewReplacer(template+"spec.", "spec.", template+"metadata.", "metadata.").Replace(text)
	}
	return cut(text)
}

// cut returns a warning as the webhook shortens it.
func cut(text string) string {
	const most = 256 - len("…")
	if len(text) <= 256 {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// missing returns those of want that got lacks. A refusal without a field
// matches one with the annotation that asked.
func missing(want, got []finding) []finding {
	var found []finding
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g finding) bool {
			return g.Rule == w.Rule && g.Effect == w.Effect && (g.Field == w.Field || g.Field == w.Field+item(g.Field) || strings.HasPrefix(w.Rule, "inject-") && (w.Field == "" || g.Field == ""))
		}) {
			found = append(found, w)
		}
	}
	return found
}

// The points of admission at which usher is called, in order.
const (
	injecting = iota
	attaching
	judging
)

// item is the end of a field that names an item of a list, which a shortened
// warning may lose.
func item(field string) string {
	if i := strings.LastIndexByte(field, '['); i >= 0 && strings.HasSuffix(field, "]") {
		return field[i:]
	}
	return ""
}

// firstStage returns the point of admission at which the cluster denied, or the
// last.
func firstStage(o *outcome) int {
	for _, f := range o.Findings {
		if f.Effect == denies {
			return f.stage()
		}
	}
	return judging
}

// stage returns the point of admission of a finding.
func (f finding) stage() int {
	switch {
	case !strings.HasPrefix(f.Rule, "inject-"):
		return judging
	case strings.HasPrefix(f.Rule, "inject-network-"), strings.Contains(f.Field, "samplecrd.k8s.io/"), strings.Contains(f.Field, "k8s.v1.cni.cncf.io/"):
		return attaching
	}
	return injecting
}

func verdict(denied, pods bool) string {
	switch {
	case denied:
		return "denied"
	case pods:
		return "admitted, its pods denied"
	}
	return "admitted"
}

func list(findings []finding) string {
	if len(findings) == 0 {
		return "nothing"
	}
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}

func reasons(by map[string]string) string {
	return strings.Join(slices.Compact(slices.Sorted(maps.Values(by))), ",")
}
