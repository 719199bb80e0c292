package differential

import (
	"slices"
	"testing"
)

// injectedPod returns one with a sidecar, as the API server completes it.
func injectedPod() object {
	pod := core("Pod", "pod")
	into(pod, "metadata", "annotations")["usher.dev/injected"] = `{"envoy":{"version":"sha256:1"}}`
	pod["spec"] = object{
		"containers":     []any{object{"name": "app", "image": "app:1"}, object{"name": "envoy", "image": "envoy:1"}},
		"initContainers": []any{object{"name": "one"}, object{"name": "two"}},
		"volumes":        []any{object{"name": "envoy", "emptyDir": object{}}},
	}
	return pod
}

// admitted is the result of every surface for it.
func admitted() *outcome {
	return &outcome{
		Reasons:  map[string]string{"template envoy": "injected"},
		Findings: []finding{{"pod-no-liveness", "spec.containers", warns}, {"inject-warning", "a port is shared", warns}},
		Pod:      injectedPod(),
	}
}

// refused is the result of every surface for a pod that asks for a missing
// template.
func refused() *outcome {
	return &outcome{Denied: true, Findings: []finding{{"inject-template-missing", "metadata.annotations[inject.usher.dev/ghost]", denies}}}
}

// TestAPlantedDifferenceIsFound changes the result of one surface: the
// comparison finds the change, and finds nothing without one.
func TestAPlantedDifferenceIsFound(t *testing.T) {
	pod := &scene{Name: "pod", Namespace: "default", Object: core("Pod", "pod")}
	for name, c := range map[string]struct {
		says          func() *outcome
		check, inject func(*outcome)
	}{
		"a finding is missing":         {says: admitted, check: func(o *outcome) { o.Findings = o.Findings[1:] }},
		"a finding is added":           {says: admitted, check: func(o *outcome) { o.add("probe-identical", "spec.containers[app].livenessProbe", warns) }},
		"another field":                {says: admitted, check: func(o *outcome) { o.Findings[0].Field = "spec.containers[app]" }},
		"another effect":               {says: admitted, check: func(o *outcome) { o.Findings[0].Effect, o.Denied = denies, true }},
		"another verdict":              {says: refused, check: func(o *outcome) { o.Denied = false }},
		"another verdict for the pods": {says: admitted, check: func(o *outcome) { o.PodsDenied = true }},
		"another reason to deny":       {says: refused, check: func(o *outcome) { o.Findings[0].Rule = "inject-bad-value" }},
		"an injection that is refused": {says: admitted, inject: func(o *outcome) { o.add("inject-bad-value", "metadata", denies) }},
		"a refusal that is not":        {says: refused, inject: func(o *outcome) { o.Findings = nil }},
		"another reason":               {says: admitted, inject: func(o *outcome) { o.Reasons["template envoy"] = "already-injected" }},
		"a template more":              {says: admitted, inject: func(o *outcome) { o.Reasons["template logs"] = "opted-out" }},
		"another record":               {says: admitted, inject: func(o *outcome) { at(o.Pod, "metadata", "annotations")["usher.dev/injected"] = "{}" }},
		"a container less": {says: admitted, inject: func(o *outcome) {
			at(o.Pod, "spec")["containers"] = anyItems(at(o.Pod, "spec"), "containers")[:1]
		}},
		"another order": {says: admitted, inject: func(o *outcome) { slices.Reverse(anyItems(at(o.Pod, "spec"), "initContainers")) }},
		"another volume": {says: admitted, inject: func(o *outcome) {
			items(at(o.Pod, "spec"), "volumes")[0]["emptyDir"] = object{"medium": "Memory"}
		}},
		"a label": {says: admitted, inject: func(o *outcome) { withLabels(o.Pod, map[string]string{"logs": "shipped"}) }},
	} {
		t.Run(name, func(t *testing.T) {
			compare := func(check, inject func(*outcome)) []difference {
				checked, injected := c.says(), c.says()
				injected.Findings = slices.DeleteFunc(injected.Findings, func(f finding) bool { return f.stage() == judging })
				if check != nil {
					check(checked)
				}
				if inject != nil {
					inject(injected)
				}
				return append(compareCheck(pod, c.says(), checked), compareInject(pod, c.says(), injected)...)
			}
			if found := compare(nil, nil); len(found) > 0 {
				t.Fatalf("differences where there are none: %v", found)
			}
			if found := compare(c.check, c.inject); len(found) == 0 {
				t.Error("the difference is not found")
			}
		})
	}
}

// TestAPlantedExplanationIsFound changes the result of usher explain.
func TestAPlantedExplanationIsFound(t *testing.T) {
	pod := &scene{Name: "pod", Namespace: "default", Object: core("Pod", "pod")}
	says := func(denied bool, reason string) *explanation {
		e := &explanation{Object: "pod/pod"}
		e.Next.Denied = denied
		e.Next.Templates = append(e.Next.Templates, struct {
			Name   string `json:"name"`
			Reason string `json:"reason"`
		}{"envoy", reason})
		return e
	}
	unknown := says(false, "injected")
	unknown.Next.Unknown = "you may not create pods"
	byRules := &outcome{Denied: true, Findings: []finding{{"pod-no-liveness", "spec", denies}}}
	const byUsher, byServer = "denied by usher: not so", "refused by the API server: not so"
	for name, c := range map[string]struct {
		cluster *outcome
		denial  string
		says    *explanation
		found   int
	}{
		"the same":                          {admitted(), "", says(false, "injected"), 0},
		"another reason":                    {admitted(), "", says(false, "already-injected"), 1},
		"a denial that is not":              {admitted(), "", says(true, "injected"), 1},
		"an injection that is denied":       {refused(), byUsher, says(false, "injected"), 1},
		"the same denial":                   {refused(), byUsher, says(true, "template-missing"), 0},
		"a denial by rules":                 {byRules, byUsher, says(true, "injected"), 0},
		"a denial by rules, and not said":   {byRules, byUsher, says(false, "injected"), 1},
		"a refusal of the server":           {&outcome{}, byServer, says(true, "injected"), 0},
		"a refusal of it, and not said":     {&outcome{}, byServer, says(false, "injected"), 1},
		"nothing known":                     {admitted(), "", unknown, 1},
		"nothing said":                      {admitted(), "", nil, 1},
		"nothing said of a denial by usher": {refused(), byUsher, nil, 1},
	} {
		if found := compareExplain("explain", pod, c.denial, c.cluster, c.says); len(found) != c.found {
			t.Errorf("%s: differences %v, want %d", name, found, c.found)
		}
	}
}

func TestFieldsAreCalledByTheNamesOfItems(t *testing.T) {
	written := core("Pod", "pod")
	written["spec"] = object{"containers": []any{object{"name": "app"}}}
	for name, c := range map[string]struct{ field, message, want string }{
		"of the user":               {"spec.containers[0].image", "", "spec.containers[app].image"},
		"of the template":           {"spec.containers[1].image", "", "spec.containers[envoy]"},
		"of the template, in words": {"spec.containers", "no probe (container envoy, added by the template envoy)", "spec.containers[envoy]"},
		"of no item":                {"spec.restartPolicy", "", "spec.restartPolicy"},
		"an annotation":             {"metadata.annotations[usher.dev/injected]", "", "metadata.annotations[usher.dev/injected]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := placed(c.field, c.message, written, injectedPod()); got != c.want {
				t.Errorf("placed at %q, want %q", got, c.want)
			}
		})
	}
}

// TestAPlantedDriftIsFound changes the result of usher drift for a running pod.
func TestAPlantedDriftIsFound(t *testing.T) {
	bare := &scene{Name: "pod", Namespace: "default", Object: core("Pod", "pod")}
	recorded := &scene{Name: "pod", Namespace: "default", Object: injectedPod()}
	current := admitted()
	current.Reasons["template envoy"] = "already-injected"
	byRules := &outcome{Denied: true, Reasons: admitted().Reasons, Findings: []finding{{"pod-no-liveness", "spec", denies}}}
	for name, c := range map[string]struct {
		scene   *scene
		cluster *outcome
		says    []drifted
		found   int
	}{
		"missing":                         {bare, admitted(), []drifted{{"envoy", "missing"}}, 0},
		"missing, and not said":           {bare, admitted(), nil, 1},
		"missing, called outdated":        {bare, admitted(), []drifted{{"envoy", "outdated"}}, 1},
		"another template":                {bare, admitted(), []drifted{{"logs", "missing"}}, 1},
		"outdated":                        {recorded, admitted(), []drifted{{"envoy", "outdated"}}, 0},
		"outdated, called missing":        {recorded, admitted(), []drifted{{"envoy", "missing"}}, 1},
		"current":                         {recorded, current, nil, 0},
		"current, called outdated":        {recorded, current, []drifted{{"envoy", "outdated"}}, 1},
		"denied":                          {bare, refused(), []drifted{{"ghost", "denied"}}, 0},
		"denied, and not said":            {bare, refused(), nil, 1},
		"denied, called missing":          {bare, refused(), []drifted{{"ghost", "missing"}}, 1},
		"denied by rules":                 {bare, byRules, []drifted{{"envoy", "denied"}}, 0},
		"denied by rules, called missing": {bare, byRules, []drifted{{"envoy", "missing"}}, 1},
		"denied by rules, and not said":   {bare, byRules, nil, 1},
	} {
		if found := compareDrift(c.scene, c.cluster, c.says); len(found) != c.found {
			t.Errorf("%s: differences %v, want %d", name, found, c.found)
		}
	}
}
