package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/facts/live"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/reason"
)

// Advice is what to do; nothing where Command is "".
type Advice struct {
	// Command can be copied into a shell.
	Command string `json:"command,omitempty"`
	// Why says what the command does, or why nothing is to be done.
	Why string `json:"why"`
}

// A maker is what makes the pods of an explanation, as far as it can be changed.
type maker struct {
	kind, name, namespace string
	// patchable says that a change of its pod template reaches new pods.
	patchable bool
	// top names an owner above it that keeps its pod template; "" where none does.
	top string
}

func (m maker) String() string { return strings.ToLower(m.kind) + "/" + m.name }

// advise names the command that gives the pods what they were asked to have.
func advise(m maker, pods []Pod, next *live.Next, slips []Slip, own string) Advice {
	switch {
	case next.Unregistered:
		return Advice{
			fmt.Sprintf("kubectl get deployment/usher-webhook -n %s", own),
			"usher is not registered in this cluster, so the API server sends it nothing: see whether it runs",
		}
	case len(slips) > 0:
		return m.correct(slips)
	case next.Unknown != "":
		return Advice{Why: "ask somebody who may read the templates, or create pods here, to explain it"}
	case next.Denied:
		return m.undeny(next)
	}
	stale := stalePods(pods, next)
	if len(stale) == 0 {
		switch {
		case len(pods) == 0:
			return Advice{Why: "nothing: the next pod gets it"}
		case len(pods[0].Sidecars) == 0:
			return Advice{Why: "nothing: no template is asked for"}
		}
		return Advice{Why: "nothing: the pods have what new pods get"}
	}
	return m.recreate(stale)
}

// adviseFile says what to change in a file.
func adviseFile(next *live.Next, slips []Slip) Advice {
	switch {
	case len(slips) > 0 && slips[0].Namespace:
		return Advice{Why: fmt.Sprintf("write the label %s: %s into the Namespace", slips[0].Key, slips[0].Value)}
	case len(slips) > 0:
		return Advice{Why: fmt.Sprintf("write %s: %q into the annotations of the pod template", slips[0].Key, slips[0].Value)}
	case next.Denied:
		return Advice{Why: "correct what the denial names"}
	}
	return Advice{Why: "nothing"}
}

// stalePods are the pods that have another set of templates, or other versions
// of them, than a new pod gets.
func stalePods(pods []Pod, next *live.Next) []string {
	var stale []string
	for _, pod := range pods {
		if !same(pod.Sidecars, next) {
			stale = append(stale, pod.Name)
		}
	}
	return stale
}

func same(sidecars []Sidecar, next *live.Next) bool {
	has := func(t live.Template) bool {
		return slices.ContainsFunc(sidecars, func(s Sidecar) bool {
			return s.Template == t.Name && len(s.Absent) == 0 && (s.State == injector.Current || s.State == injector.Present && s.Record.Agrees(t.Record))
		})
	}
	for _, t := range next.Templates {
		if t.Gets() && !has(t) {
			return false
		}
	}
	return !slices.ContainsFunc(sidecars, func(s Sidecar) bool {
		t := next.Template(s.Template)
		return s.Version != "" && (t == nil || !t.Gets())
	})
}

// recreate says how pods are replaced by new ones.
func (m maker) recreate(stale []string) Advice {
	switch {
	case m.kind == "Pod":
		return m.replace("deletes the pod and creates it again from its manifest FILE; nothing else recreates it")
	case m.kind == "Job" || m.kind == "CronJob":
		return Advice{Why: "nothing: its pods end by themselves, and the next Job's pods get it"}
	case slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, m.kind):
		return Advice{fmt.Sprintf("kubectl rollout restart %s -n %s", m, m.namespace), "replaces its pods by new ones"}
	}
	return Advice{fmt.Sprintf("kubectl delete pod -n %s %s", m.namespace, strings.Join(stale, " ")), m.String() + " creates them again"}
}

// replace is the command for what can only be created again.
func (m maker) replace(why string) Advice {
	return Advice{fmt.Sprintf("kubectl replace --force -n %s -f FILE", m.namespace), why}
}

// correct says how keys that usher does not read are written where it does.
func (m maker) correct(slips []Slip) Advice {
	if slips[0].Namespace {
		return Advice{fmt.Sprintf("kubectl label namespace %s %s=%s", m.namespace, slips[0].Key, slips[0].Value), "asks for the template for every new pod of the namespace"}
	}
	annotations := map[string]any{}
	for _, s := range slips {
		if s.Namespace {
			continue
		}
		annotations[s.Key] = s.Value
		if s.misspelt != "" {
			annotations[s.misspelt] = nil
		}
	}
	return m.annotate(annotations, "asks for the template where usher reads it")
}

// annotate says how annotations of the pod template are set, and removed where
// the value is nil.
func (m maker) annotate(annotations map[string]any, why string) Advice {
	set := strings.Join(written(annotations), ", ")
	switch {
	case m.top != "":
		return Advice{Why: fmt.Sprintf("write %s into the annotations of the pod template in %s, which makes %s", set, m.top, m)}
	case m.kind == "Pod":
		return m.replace(fmt.Sprintf("after you have written %s into its annotations in FILE, creates the pod again; nothing else does", set))
	case !m.patchable:
		return m.replace(fmt.Sprintf("after you have written %s into the annotations of its pod template in FILE; it cannot be changed in place", set))
	}
	var patch any = map[string]any{"metadata": map[string]any{"annotations": annotations}}
	for _, field := range slices.Backward(injector.TemplatePath(m.kind)) {
		patch = map[string]any{field: patch}
	}
	text, _ := json.Marshal(patch) // strings and nil always marshal
	return Advice{fmt.Sprintf("kubectl patch %s -n %s --type=merge -p %s", m, m.namespace, quoted(string(text))), why}
}

func written(annotations map[string]any) []string {
	var list []string
	for key, value := range annotations {
		if value != nil {
			list = append(list, fmt.Sprintf("%s: %q", key, value))
		}
	}
	slices.Sort(list)
	return list
}

// quoted is text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// undeny says where what a denial names is to be corrected.
func (m maker) undeny(next *live.Next) Advice {
	const again = "; its controller then tries again by itself"
	switch p := next.Problems[0]; {
	case p.Reason == string(reason.TemplateMissing), p.Reason == string(reason.TemplateInvalid):
		return Advice{Why: "correct the template's name, or ask those who run usher for the template" + again}
	case m.top != "":
		return Advice{Why: fmt.Sprintf("correct in %s, which makes %s, what the denial names", m.top, m)}
	case m.kind == "Pod":
		return m.replace("after you have corrected in FILE what the denial names")
	}
	return Advice{fmt.Sprintf("kubectl edit %s -n %s", m, m.namespace), "to correct what the denial names" + again}
}
