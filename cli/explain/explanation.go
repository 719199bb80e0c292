// Package explain explains what pods and their owners have, what their next pod
// gets, and what changes it.
package explain

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/verdict"
)

// An Explanation is about one object, or the pods of one owner.
type Explanation struct {
	// Object is the explained object, such as pod/api-1 or deployment/api.
	Object    string `json:"object"`
	Namespace string `json:"namespace"`
	// Owner is the controller of the pods; "" for a pod without a controller.
	Owner string `json:"owner,omitempty"`
	// Now are the existing pods, and what they have.
	Now []Pod `json:"now"`
	// Next is what the next pod gets.
	Next *kubeconfig.Prediction `json:"next"`
	// Typos are keys that were probably meant to ask for a template.
	Typos []Typo `json:"slips,omitempty"`
	Do    Advice `json:"do"`

	file bool // true for an object from a file
}

// A Pod is an existing pod.
type Pod struct {
	Name     string    `json:"name"`
	Phase    string    `json:"phase"`
	Deleted  bool      `json:"deleted,omitempty"`
	Sidecars []Sidecar `json:"sidecars"`
}

// A Sidecar is what the pod has of one template.
type Sidecar struct {
	injector.Sidecar
	// Containers and InitContainers are those that the pod's record names.
	Containers     []string `json:"containers,omitempty"`
	InitContainers []string `json:"initContainers,omitempty"`
	// Parameters are the values of the template's parameters when it was added, by
	// name.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Absent are containers that the pod's record names but the pod lacks.
	Absent []string `json:"absent,omitempty"`
}

// An Explainer explains objects in a cluster.
type Explainer struct{ Cluster *kubeconfig.Cluster }

// Object explains a pod, or the pods of an owner.
func (e Explainer) Object(ctx context.Context, namespace string, target Target) (*Explanation, error) {
	w, err := e.Cluster.Workload(ctx, target.APIVersion, target.Kind, namespace, target.Name)
	if err != nil {
		return nil, err
	}
	pods, err := e.Cluster.PodsOf(ctx, w)
	if err != nil {
		return nil, err
	}
	return e.explain(ctx, w, pods)
}

// Selected explains the pods that a selector matches, by owner, and the owners
// of such pods that have none yet.
func (e Explainer) Selected(ctx context.Context, namespace string, selector labels.Selector) ([]*Explanation, error) {
	workloads, err := e.Cluster.WorkloadsMatching(ctx, namespace, selector)
	if err != nil {
		return nil, err
	}
	pods, err := e.Cluster.Pods(ctx, namespace, selector)
	if err != nil {
		return nil, err
	}
	var all []*Explanation
	explained := map[string]bool{}
	for _, w := range workloads {
		of, err := e.Cluster.PodsOf(ctx, w)
		if err != nil {
			return nil, err
		}
		for _, pod := range of {
			explained[pod.GetName()] = true
		}
		explanation, err := e.explain(ctx, w, of)
		if err != nil {
			return nil, err
		}
		all = append(all, explanation)
	}
	for _, pod := range pods {
		if explained[pod.GetName()] {
			continue
		}
		explanation, err := e.explain(ctx, pod, []kubeconfig.Workload{pod})
		if err != nil {
			return nil, err
		}
		all = append(all, explanation)
	}
	if len(all) == 0 {
		if _, err := e.Cluster.Namespace(ctx, namespace); apierrors.IsNotFound(err) {
			return nil, err
		}
		return nil, fmt.Errorf("no pod or owner of pods in namespace %s matches %s", namespace, selector)
	}
	return all, nil
}

// explain explains a pod or an owner of pods.
func (e Explainer) explain(ctx context.Context, w kubeconfig.Workload, pods []kubeconfig.Workload) (*Explanation, error) {
	explanation := &Explanation{Object: w.String(), Namespace: w.GetNamespace(), Now: []Pod{}}
	ns, err := e.Cluster.Namespace(ctx, w.GetNamespace())
	switch {
	case apierrors.IsForbidden(err):
		ns = &metav1.PartialObjectMetadata{}
	case err != nil:
		return nil, err
	}
	for _, pod := range pods {
		explanation.Now = append(explanation.Now, podNow(pod, ns.Labels, e.Cluster.Templates))
	}
	made, m, err := e.owner(ctx, w)
	if err != nil {
		return nil, err
	}
	if m.top != "" {
		explanation.Owner = m.top
	} else if made.String() != explanation.Object {
		explanation.Owner = made.String()
	}
	if explanation.Next, err = e.Cluster.Predict(ctx, made.NextPod(e.Cluster.Templates)); err != nil {
		return nil, err
	}
	explanation.keepTypos(typos(made, ns, e.Cluster.Templates.Names()), explanation.Next.InjectionDenied())
	explanation.Do = advise(m, explanation.Now, explanation.Next, explanation.Typos, e.Cluster.Own)
	return explanation, nil
}

// File explains a workload from a file, without any existing pods.
func File(w kubeconfig.Workload, next *kubeconfig.Prediction, templates []string) *Explanation {
	e := &Explanation{Object: w.String(), Namespace: w.GetNamespace(), Now: []Pod{}, Next: next, file: true}
	e.keepTypos(typos(w, &metav1.PartialObjectMetadata{}, templates), next.InjectionDenied())
	e.Do = adviseFile(next, e.Typos)
	return e
}

// WrongKeys describes the annotations and labels of a pod template in a file that
// were probably meant to ask for a template, and do not.
func WrongKeys(d *manifest.Document, v *verdict.Verdict, templates []string) []string {
	if !mayAsk(d.JSON) || !mayBeWrong(v, templates) {
		return nil
	}
	w := kubeconfig.Workload{Unstructured: &unstructured.Unstructured{}}
	if w.UnmarshalJSON(d.JSON) != nil {
		return nil // the verdict says what is wrong
	}
	e := &Explanation{Next: kubeconfig.PredictionOf(v, nil, nil)}
	annotations, podLabels := w.TemplateMetadata()
	e.keepTypos(typosInTemplate(metadata{"its pods", annotations, podLabels}, templates), v.Denied || v.PodsDenied)
	var found []string
	for _, s := range e.Typos {
		found = append(found, s.Found)
	}
	return found
}

// mayBeWrong reports whether a pod template has a wrong key, as the verdict has it
// decoded: with the keys of templates besides its own.
func mayBeWrong(v *verdict.Verdict, templates []string) bool {
	if v.Decoded.Typed == nil || len(v.Decoded.Typed.Templates) == 0 {
		return true
	}
	return slices.ContainsFunc(v.Decoded.Typed.Templates, func(t policies.PodTemplate) bool {
		return len(typosInTemplate(metadata{"", t.Meta.Annotations, t.Meta.Labels}, templates)) > 0
	})
}

// mayAsk reports whether an object has a part of usher's keys, so that most
// objects are not decoded for nothing.
func mayAsk(object []byte) bool {
	for _, part := range []string{"initiali", "inject.", "usher.dev/", "kubernetes.io/"} {
		if bytes.Contains(object, []byte(part)) {
			return true
		}
	}
	return false
}

// keepTypos keeps the keys that ask for what the next pod does not get, or refuse
// what it gets. denied is true if it gets nothing.
func (e *Explanation) keepTypos(typos []Typo, denied bool) {
	for _, s := range typos {
		t := e.Next.Template(s.Template)
		if gets := t != nil && t.Gets() && !denied; gets == (s.Value == "false") {
			e.Typos = append(e.Typos, s)
		}
	}
}

// owner finds the controller of a workload's pods: the topmost of its owners
// with a pod template.
func (e Explainer) owner(ctx context.Context, w kubeconfig.Workload) (kubeconfig.Workload, owner, error) {
	owners, err := e.Cluster.Owners(ctx, w)
	if err != nil {
		return w, owner{}, err
	}
	made, top := w, ""
	for _, above := range owners {
		if !above.HoldsTemplate() {
			top = above.String()
			continue
		}
		if made, err = e.Cluster.Workload(ctx, above.APIVersion, above.Kind, above.Namespace, above.Name); err != nil {
			return w, owner{}, err
		}
		top = ""
	}
	o := owner{kind: made.GetKind(), name: made.GetName(), namespace: made.GetNamespace(), top: top}
	o.patchable = o.kind != "Job" && o.kind != "Pod"
	return made, o, nil
}

// typos finds keys that were probably meant to ask for a template.
func typos(w kubeconfig.Workload, ns *metav1.PartialObjectMetadata, templates []string) []Typo {
	annotations, podLabels := w.TemplateMetadata()
	what := "its pod template"
	if w.IsPod() {
		what = "the pod"
	}
	found := typosInTemplate(metadata{what, annotations, podLabels}, templates)
	if !w.IsPod() {
		found = append(found, typosInOwner(metadata{w.String(), w.GetAnnotations(), w.GetLabels()}, annotations, templates)...)
	}
	return append(found, typosInNamespace(metadata{"namespace " + w.GetNamespace(), ns.Annotations, ns.Labels})...)
}

// podNow returns what a pod has.
func podNow(pod kubeconfig.Workload, namespaceLabels map[string]string, templates *injector.Set) Pod {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	now := Pod{Name: pod.GetName(), Phase: phase, Deleted: pod.GetDeletionTimestamp() != nil, Sidecars: []Sidecar{}}
	containers := map[string]bool{}
	for _, list := range []string{"containers", "initContainers"} {
		items, _, _ := unstructured.NestedSlice(pod.Object, "spec", list)
		for _, item := range items {
			if c, ok := item.(map[string]any); ok {
				containers[fmt.Sprint(c["name"])] = true
			}
		}
	}
	for _, s := range injector.Sidecars(pod.GetAnnotations(), injector.PodSubject(pod, namespaceLabels), templates) {
		sidecar := Sidecar{Sidecar: s, Containers: s.Record.Containers, InitContainers: s.Record.InitContainers, Parameters: s.Record.Parameters}
		for _, name := range slices.Concat(sidecar.Containers, sidecar.InitContainers) {
			if !containers[name] {
				sidecar.Absent = append(sidecar.Absent, name)
			}
		}
		now.Sidecars = append(now.Sidecars, sidecar)
	}
	return now
}
