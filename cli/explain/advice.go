package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/kinds"
)

// Advice is what to do; empty if Command is "".
type Advice struct {
	// Command can be pasted into a shell.
	Command string `json:"command,omitempty"`
	// Why explains the effect of the command, or why there is nothing to do.
	Why string `json:"why"`
}

// An owner is the controller of the explained pods, as far as a user can change
// it.
type owner struct {
	kind, name, namespace string
	// patchable is true if a change of its pod template reaches new pods.
	patchable bool
	// top names an owner above it that manages its pod template, or "".
	top string
}

func (o owner) String() string { return strings.ToLower(o.kind) + "/" + o.name }

// advise returns the command that gives the pods what they ask for.
func advise(o owner, pods []Pod, next *kubeconfig.Prediction, typos []Typo, own string) Advice {
	switch {
	case next.Unregistered:
		return Advice{
			fmt.Sprintf("kubectl get deployment/usher-webhook -n %s", own),
			"usher is not registered in this cluster, so the API server does not call it: check whether it runs; `usher status` says what is missing",
		}
	case next.Unanswered:
		return Advice{Why: fmt.Sprintf("ask an administrator whether usher runs in namespace %s and is registered; its pods can be recreated afterwards", own)}
	case len(typos) > 0:
		return o.correct(typos)
	case next.Unknown != "":
		return Advice{Why: "ask somebody who may read the templates, or create pods here, to run this command"}
	case next.Denied:
		return o.undeny(next)
	}
	stale := stalePods(pods, next)
	if o.kind == "Pod" && slices.ContainsFunc(next.Templates, misrecorded) {
		return o.replace(fmt.Sprintf("after you have removed the annotation %s in FILE, recreates the pod, and usher adds the template", wellknown.AnnotationInjected))
	}
	if len(stale) == 0 {
		switch {
		case len(pods) == 0:
			return Advice{Why: "nothing: the next pod gets it"}
		case len(pods[0].Sidecars) == 0:
			return Advice{Why: "nothing: neither the pod nor its namespace asks for a template"}
		}
		return Advice{Why: "nothing: the pods have what new pods get"}
	}
	return o.recreate(stale)
}

// adviseFile returns what to change in a file.
func adviseFile(next *kubeconfig.Prediction, typos []Typo) Advice {
	switch {
	case len(typos) > 0 && typos[0].Namespace:
		return Advice{Why: fmt.Sprintf("add the label %s: %s to the Namespace", typos[0].Key, typos[0].Value)}
	case len(typos) > 0:
		return Advice{Why: fmt.Sprintf("add %s: %q to the annotations of the pod template", typos[0].Key, typos[0].Value)}
	case next.Denied:
		return Advice{Why: "correct what the denial names"}
	case slices.ContainsFunc(next.Templates, misrecorded):
		return Advice{Why: fmt.Sprintf("remove the annotation %s of the pod, and usher adds the template", wellknown.AnnotationInjected)}
	}
	return Advice{Why: "nothing"}
}

func misrecorded(t kubeconfig.Template) bool { return t.Misrecorded }

// stalePods returns the pods that have other templates, or other versions of
// them, than a new pod gets.
func stalePods(pods []Pod, next *kubeconfig.Prediction) []string {
	var stale []string
	for _, pod := range pods {
		if !same(pod.Sidecars, next) {
			stale = append(stale, pod.Name)
		}
	}
	return stale
}

func same(sidecars []Sidecar, next *kubeconfig.Prediction) bool {
	has := func(t kubeconfig.Template) bool {
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

// recreate returns how to replace pods with new ones.
func (o owner) recreate(stale []string) Advice {
	switch {
	case o.kind == "Pod":
		return o.replace("deletes the pod and recreates it from its manifest FILE; no controller recreates it")
	case kinds.Named(o.kind).Is(kinds.Ends):
		return Advice{Why: "nothing: its pods end by themselves, and the next Job's pods get it"}
	case kinds.Named(o.kind).Is(kinds.Restarts):
		return Advice{fmt.Sprintf("kubectl rollout restart %s -n %s", o, o.namespace), "replaces its pods with new ones"}
	}
	return Advice{fmt.Sprintf("kubectl delete pod -n %s %s", o.namespace, strings.Join(stale, " ")), o.String() + " creates them again"}
}

// replace returns the command for an object that can only be recreated.
func (o owner) replace(why string) Advice {
	return Advice{fmt.Sprintf("kubectl replace --force -n %s -f FILE", o.namespace), why}
}

// correct returns how to write misplaced keys where usher reads them.
func (o owner) correct(typos []Typo) Advice {
	if typos[0].Namespace {
		return Advice{fmt.Sprintf("kubectl label namespace %s %s=%s", o.namespace, typos[0].Key, typos[0].Value), "requests the template for every new pod of the namespace"}
	}
	annotations := map[string]any{}
	for _, s := range typos {
		if s.Namespace {
			continue
		}
		annotations[s.Key] = s.Value
		if s.misspelt != "" {
			annotations[s.misspelt] = nil
		}
	}
	return o.annotate(annotations, "corrects the annotation")
}

// annotate returns how to set annotations of the pod template, or remove those
// with the value nil.
func (o owner) annotate(annotations map[string]any, why string) Advice {
	set := strings.Join(written(annotations), ", ")
	switch {
	case o.top != "":
		return Advice{Why: fmt.Sprintf("add %s to the annotations of the pod template in %s, which creates %s", set, o.top, o)}
	case o.kind == "Pod":
		return o.replace(fmt.Sprintf("after you have added %s to its annotations in FILE, recreates the pod; no controller does", set))
	case !o.patchable:
		return o.replace(fmt.Sprintf("after you have added %s to the annotations of its pod template in FILE; it cannot be changed in place", set))
	}
	var patch any = map[string]any{"metadata": map[string]any{"annotations": annotations}}
	for _, field := range slices.Backward(kinds.Named(o.kind).Template()) {
		patch = map[string]any{field: patch}
	}
	text, _ := json.Marshal(patch) // strings and nil always marshal
	return Advice{fmt.Sprintf("kubectl patch %s -n %s --type=merge -p %s", o, o.namespace, quoted(string(text))), why}
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

// quoted quotes text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// undeny returns where to correct what a denial names.
func (o owner) undeny(next *kubeconfig.Prediction) Advice {
	const again = "; the controller retries by itself"
	switch p := next.Problems[0]; {
	case p.Reason == string(reason.TemplateMissing), p.Reason == string(reason.TemplateInvalid):
		return Advice{Why: "correct the annotation, or ask your administrator to create the template" + again}
	case o.top != "":
		return Advice{Why: fmt.Sprintf("correct in %s, which creates %s, what the denial names", o.top, o)}
	case o.kind == "Pod":
		return o.replace("after you have corrected in FILE what the denial names")
	}
	return Advice{fmt.Sprintf("kubectl edit %s -n %s", o, o.namespace), "to correct what the denial names" + again}
}
