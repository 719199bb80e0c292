package differential

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator generates batches from a seed.
type generator struct {
	*rand.Rand
	// count is the number of scenes so far.
	count int
	// known are the valid templates.
	known []string
}

// perBatch is the number of scenes in a batch.
const perBatch = 200

// generate generates a batch.
func generate(seed uint64, number, scenes int) *batch {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(number)))}
	b := &batch{Configuration: g.configuration(), Templates: g.templates()}
	for i := range 12 {
		b.Namespaces = append(b.Namespaces, g.namespace(fmt.Sprintf("b%d-%d", number, i)))
	}
	for i := range scenes {
		n := &b.Namespaces[g.IntN(len(b.Namespaces))]
		b.Scenes = append(b.Scenes, g.scene(n, fmt.Sprintf("s%d-%d", number, i)))
	}
	return b
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

var levels = []string{"invariant", "baseline", "strict", "off"}

func (g *generator) configuration() string {
	if g.chance(0.3) {
		return ""
	}
	var lines []string
	for _, key := range []string{"enforce", "warn", "audit"} {
		if g.chance(0.5) {
			lines = append(lines, fmt.Sprintf("  %s: %q", key, g.pick(levels...)))
		}
	}
	if g.chance(0.3) {
		lines = append(lines, "  exclude: ["+g.pick("pod-no-liveness", "deploy-no-readiness", "job-ttl", "probe-identical")+"]")
	}
	if g.chance(0.5) {
		rules := ""
		if g.chance(0.5) {
			rules = ", rules: [" + g.pick("deploy-no-readiness", "sts-headless", "deploy-zero-zero") + "]"
		}
		lines = append(lines, "  exemptions: {allowed: "+g.pick("true", "false")+rules+"}")
	}
	text := "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\n"
	if len(lines) > 0 {
		text += "policies:\n" + strings.Join(lines, "\n") + "\n"
	}
	if g.chance(0.2) {
		text += "networks: {backend: " + g.pick("multus", "neutron") + "}\n"
	}
	return text
}

// labels generates a namespace's labels, both valid and invalid.
func (g *generator) labels() map[string]string {
	labels := map[string]string{}
	set := func(chance float64, key string, values ...string) {
		if g.chance(chance) {
			labels[key] = g.pick(values...)
		}
	}
	for _, key := range []string{"enforce", "warn", "audit"} {
		set(0.45, "policy.usher.dev/"+key, append(levels, levels...)...)
		set(0.04, "policy.usher.dev/"+key, "high", "Strict", "")
	}
	set(0.25, "policy.usher.dev/enforce-version", "v0.1", "latest", "v9.9", "0.1", "newest")
	set(0.4, "inject.usher.dev/templates", g.pick(g.known...), g.pick(g.known...)+"."+g.pick(g.known...), "ghost", "Envoy", "envoy..logs", "broken", "")
	set(0.1, "pod-security.kubernetes.io/enforce", "baseline", "restricted")
	set(0.4, "team", "a", "b", "c")
	set(0.2, "inject.usher.dev/revision", g.pick(g.known...)+".next", g.pick(g.known...)+".next_"+g.pick(g.known...)+".default", "envoy.ghost", "next")
	set(0.1, "samplecrd.k8s.io/own-network", "true", "false", "maybe")
	set(0.05, "usher.dev/default-serviceaccount", "view", "admin")
	return labels
}

func (g *generator) namespace(name string) namespace {
	n := namespace{Name: name, Labels: g.labels(), Annotations: map[string]string{}}
	if g.chance(0.3) {
		n.Annotations["java.example.com/heap"] = g.pick("large", "large", "huge")
	}
	if g.chance(0.3) {
		n.Annotations["java.example.com/tag"] = g.pick("v2", "not a tag")
	}
	add := func(o object) { n.Others = append(n.Others, o) }
	for _, kind := range []string{"ConfigMap", "Secret"} { // what the templates need
		for _, name := range []string{"sidecars", "registry"} {
			add(core(kind, name))
		}
	}
	for _, network := range []string{"blue", "green"} {
		backend := g.pick("multus", "multus", "neutron")
		o := object{"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": object{"name": network}, "spec": object{"cidr": "10." + map[string]string{"blue": "1", "green": "2"}[network] + ".0.0/16"}}
		o["status"] = object{"backend": backend, "conditions": []any{object{
			"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}}
		add(o)
	}
	for service, ip := range map[string]string{"headless": "None", "service": ""} {
		o := core("Service", service)
		o["spec"] = object{"selector": object{"app": "any"}, "ports": []any{object{"port": 80}}}
		if ip != "" {
			o["spec"].(object)["clusterIP"] = ip
		}
		add(o)
	}
	if g.chance(0.15) { // of pods, because the API server adjusts containers to them
		limits := core("LimitRange", "limits")
		limits["spec"] = object{"limits": []any{object{"type": "Pod", "max": object{"memory": g.pick("64Mi", "256Mi")}}}}
		add(limits)
	}
	slices.SortFunc(n.Others, func(a, b object) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return n
}

// scene generates one request of a kind.
func (g *generator) scene(n *namespace, name string) *scene {
	s := &scene{Name: name, Namespace: n.Name}
	g.count++
	kind := g.pick("Pod", "Pod", "Pod", "Deployment", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController", "PodTemplate",
		"Namespace", "ConfigMap", "Network", "RoleBinding", "ClusterRoleBinding")
	switch kind {
	case "Namespace":
		s.Namespace, s.Object = "", withLabels(core("Namespace", name), g.labels())
		return s
	case "ConfigMap":
		s.Namespace, s.Object = ownNamespace, g.newTemplate(name)
		return s
	case "ClusterRoleBinding":
		s.Namespace = ""
	}
	s.Object = g.object(n, kind, name)
	if s.Namespace != "" {
		into(s.Object, "metadata")["namespace"] = s.Namespace
	}
	switch kind {
	case "Pod":
		s.Earlier = g.chance(0.3)
	case "Deployment", "StatefulSet", "DaemonSet", "CronJob":
		if g.chance(0.3) {
			// Its opt-in on its own metadata was not copied, because it was created
			// while usher was down.
			delete(at(s.Object, "metadata"), "annotations")
			s.Old = clone(s.Object)
			g.change(s.Object)
		}
	}
	s.Object = clone(s.Object)
	return s
}

// newTemplate generates a template that is applied while usher runs.
func (g *generator) newTemplate(name string) object {
	o := core("ConfigMap", name+"-initializer")
	data := object{"config": strings.ReplaceAll(strings.ReplaceAll(fragments["envoy"], "name: envoy", "name: "+name), "15001", g.pick("15001", "15002"))}
	if g.chance(0.5) {
		data = clone(brokenData[g.IntN(len(brokenData))])
	} else if g.chance(0.5) {
		data["options"] = g.options("", nil)
	}
	o["data"] = data
	into(o, "metadata")["namespace"] = ownNamespace
	into(o, "metadata")["name"] = name + "-initializer"
	return clone(o)
}

// object generates an object of a kind.
func (g *generator) object(n *namespace, kind, name string) object {
	group := map[string]string{
		"Pod": "v1", "ReplicationController": "v1", "PodTemplate": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "Network": "samplecrd.k8s.io/v1",
		"RoleBinding": "rbac.authorization.k8s.io/v1", "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
	}[kind]
	if group == "" {
		group = "apps/v1"
	}
	o := object{"apiVersion": group, "kind": kind, "metadata": object{"name": name}}
	if g.chance(0.15) {
		annotations := into(o, "metadata", "annotations")
		annotations["policy.usher.dev/exempt"] = g.pick("deploy-no-readiness", "sts-headless,deploy-zero-zero", "no-such-rule")
		if g.chance(0.8) {
			annotations["policy.usher.dev/exempt-reason"] = "known"
		}
	}
	switch kind {
	case "Pod":
		g.pod(o, "Always", "OnFailure", "Never")
		g.asks(into(o, "metadata"))
		return o
	case "Network":
		first := fmt.Sprintf("192.168.%d", g.count%256) // a range of its own
		o["spec"] = object{"cidr": g.pick(first+".0/24", first+".1/24", first+".0/31", "10.1.0.0/24"), "gateway": g.pick(first+".1", first+".0", "10.9.0.1")}
		return o
	case "RoleBinding", "ClusterRoleBinding":
		o["roleRef"] = object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": g.pick("cluster-admin", "view", "edit")}
		o["subjects"] = []any{object{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": g.pick("system:authenticated", "system:serviceaccounts", "team")}}
		if g.chance(0.5) {
			o["subjects"] = []any{object{"kind": "ServiceAccount", "name": "default", "namespace": n.Name}}
		}
		return o
	}
	labels := object{"app": name}
	template := object{"metadata": object{"labels": labels}}
	restart := []string{"Always"}
	if kind == "Job" || kind == "CronJob" || kind == "PodTemplate" && g.chance(0.3) {
		restart = []string{"Never", "OnFailure"}
	}
	g.pod(template, restart...)
	if g.chance(0.6) {
		g.asks(into(template, "metadata"))
	}
	if g.chance(0.4) {
		g.asks(into(o, "metadata"))
	}
	if kind == "Deployment" && g.chance(0.1) {
		into(o, "metadata", "annotations")["samplecrd.k8s.io/own-network"] = g.pick("true", "false", "yes")
	}
	switch kind {
	case "PodTemplate":
		o["template"] = template
	case "CronJob":
		o["spec"] = object{"schedule": g.pick("30 2 * * *", "*/7 * * * *", "0 0 31 2 *", "0 0 1 * 1"), "jobTemplate": object{"spec": g.job(object{"template": template})}}
		g.set(o["spec"].(object), 0.3, "startingDeadlineSeconds", 0, 5, 300)
		g.set(o["spec"].(object), 0.5, "concurrencyPolicy", "Allow", "Forbid", "Replace")
		g.set(o["spec"].(object), 0.3, "timeZone", "Europe/Berlin", "Etc/UTC")
		g.set(o["spec"].(object), 0.3, "successfulJobsHistoryLimit", 0, 3)
	case "Job":
		o["spec"] = g.job(object{"template": template})
	case "ReplicationController":
		o["spec"] = object{"selector": clone(labels), "template": template}
	default:
		o["spec"] = g.workload(n, kind, object{"selector": object{"matchLabels": clone(labels)}, "template": template}, name, labels)
	}
	return o
}

// set sometimes sets a field to one of some values.
func (g *generator) set(o object, chance float64, field string, values ...any) {
	if g.chance(chance) {
		o[field] = values[g.IntN(len(values))]
	}
}

func (g *generator) job(spec object) object {
	g.set(spec, 0.4, "ttlSecondsAfterFinished", 0, 100)
	g.set(spec, 0.4, "backoffLimit", 0, 6, 100)
	g.set(spec, 0.4, "activeDeadlineSeconds", 5, 600)
	g.set(spec, 0.3, "parallelism", 0, 1, 5)
	g.set(spec, 0.3, "completions", 1, 3)
	if spec["completions"] != nil {
		g.set(spec, 0.5, "completionMode", "Indexed", "NonIndexed")
	}
	return spec
}

func (g *generator) workload(n *namespace, kind string, spec object, name string, labels object) object {
	if kind != "DaemonSet" {
		g.set(spec, 0.6, "replicas", 0, 1, 2, 3)
	}
	g.set(spec, 0.2, "minReadySeconds", 0, 5, 900)
	rolling := object{}
	g.set(rolling, 0.5, "maxUnavailable", 1, "25%", "100%")
	strategy := object{"type": "RollingUpdate", "rollingUpdate": rolling}
	if len(rolling) == 0 {
		delete(strategy, "rollingUpdate")
	}
	switch kind {
	case "Deployment":
		g.set(spec, 0.2, "revisionHistoryLimit", 0, 10)
		g.set(spec, 0.2, "progressDeadlineSeconds", 5, 600, 1000)
		g.set(spec, 0.5, "strategy", object{"type": "Recreate"}, strategy)
		if g.chance(0.1) { // its autoscaler
			n.Others = append(n.Others, object{
				"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": object{"name": name},
				"spec": object{"maxReplicas": 5, "scaleTargetRef": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}},
			})
		}
		if g.chance(0.1) { // another one with the same pod labels
			twin := object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name + "-twin"}}
			twin["spec"] = object{"selector": object{"matchLabels": clone(labels)}, "template": object{
				"metadata": object{"labels": clone(labels)}, "spec": object{"containers": []any{object{"name": "app", "image": "app:1"}}},
			}}
			n.Others = append(n.Others, twin)
		}
	case "StatefulSet":
		spec["serviceName"] = g.pick("headless", "service", "ghost", "")
		g.set(spec, 0.5, "updateStrategy", object{"type": "OnDelete"}, object{"type": "RollingUpdate", "rollingUpdate": object{"partition": g.IntN(3)}})
		g.set(spec, 0.3, "podManagementPolicy", "OrderedReady", "Parallel")
	case "DaemonSet":
		g.set(spec, 0.5, "updateStrategy", object{"type": "OnDelete"}, strategy)
	}
	return spec
}

// change changes an object in one or two places.
func (g *generator) change(o object) {
	kind, _ := o["kind"].(string)
	pod := podOf(o)
	for range 1 + g.IntN(2) {
		switch g.IntN(5) {
		case 0:
			items(at(pod, "spec"), "containers")[0]["image"] = g.pick("app:2", "app:3")
		case 1:
			g.asks(into(o, "metadata"))
		case 2:
			g.asks(into(pod, "metadata"))
		case 3:
			if kind == "Deployment" || kind == "StatefulSet" {
				o["spec"].(object)["replicas"] = g.IntN(4)
			}
		case 4:
			delete(into(o, "metadata"), "annotations")
		}
	}
}
