// Package drift finds pods with outdated or missing sidecars, and restarts
// their workloads.
package drift

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
)

// A State describes how a pod differs from the next one of its owner.
type State string

// The states of a pod that drifted.
const (
	// Outdated pods have another version of the template than new pods get.
	Outdated = State(injector.Outdated)
	// Missing pods ask for the template, would get it now, and run without it.
	Missing = State(injector.Missing)
	// Denied pods ask for the template, or refuse a mandatory one, and a new pod
	// would be denied.
	Denied State = "denied"
)

// A Finding is one pod and one template of it.
type Finding struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// Owner is the workload of the pod, "" for a pod without one.
	Owner    string `json:"owner,omitempty"`
	Template string `json:"template"`
	State    State  `json:"state"`
	Reason   string `json:"reason"`
	Have     string `json:"have,omitempty"`
	Want     string `json:"want,omitempty"`

	top    *kubeconfig.Owner
	labels map[string]string
}

// Top returns the topmost owner of the pod, nil for a pod without one.
func (f Finding) Top() *kubeconfig.Owner { return f.top }

// A Finder decides which pods drifted. It decides once for the pods of one owner,
// and sees the cluster's templates as they were when it connected.
type Finder struct {
	*kubeconfig.Cluster
	next map[types.UID]*kubeconfig.Prediction // by the pods' controller
}

// NewFinder returns a Finder for a cluster.
func NewFinder(c *kubeconfig.Cluster) *Finder {
	return &Finder{Cluster: c, next: map[types.UID]*kubeconfig.Prediction{}}
}

// A Scope selects pods.
type Scope struct {
	// Namespace is that of the pods; "" means every namespace.
	Namespace string
	// Selector selects pods by their labels; nil selects all.
	Selector labels.Selector
	// Objects, if not empty, selects pods and owners by their names, such as
	// pod/api-1 and deployment/api.
	Objects []string
}

// options are the options of a LIST of one page of the running pods in the
// scope.
func (s Scope) options(next string) []client.ListOption {
	options := []client.ListOption{
		client.InNamespace(s.Namespace), client.MatchingFieldsSelector{Selector: kubeconfig.Running()}, client.Limit(kubeconfig.Page), client.Continue(next),
	}
	if s.Selector != nil {
		options = append(options, client.MatchingLabelsSelector{Selector: s.Selector})
	}
	return options
}

// outside reports whether a finding is about another object than those named.
func (s Scope) outside(f Finding) bool {
	return len(s.Objects) > 0 && !slices.Contains(s.Objects, f.Owner) && !slices.Contains(s.Objects, "pod/"+f.Pod)
}

// Find lists the pods in a scope that drifted. It lists
// their metadata in pages. For pods whose record does not match what they ask
// for, it decides what a new pod would get, once for each of their owners. If a
// template is mandatory it also reads the pods, because their metadata does not
// show later changes to the template's items.
func Find(ctx context.Context, c *kubeconfig.Cluster, scope Scope) ([]Finding, error) {
	f := NewFinder(c)
	findings, err := f.byMetadata(ctx, scope)
	if err != nil {
		return nil, err
	}
	denied, err := f.mandatory(ctx, scope)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(instead(findings, denied), scope.outside), nil
}

// byMetadata lists the pods whose metadata shows that they drifted.
func (f *Finder) byMetadata(ctx context.Context, scope Scope) ([]Finding, error) {
	if f.Templates == nil {
		return nil, fmt.Errorf("you may not read the templates in namespace %s; use `usher explain` for single workloads instead", f.Own)
	}
	if scope.Namespace != "" {
		if _, err := f.NamespaceLabels(ctx, scope.Namespace); err != nil {
			return nil, err
		}
	}
	var findings []Finding
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		err := f.List(ctx, list, scope.options(list.Continue)...)
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		for i := range list.Items {
			found, err := f.Pod(ctx, &list.Items[i])
			if err != nil {
				return nil, err
			}
			findings = append(findings, found...)
		}
		if list.Continue == "" {
			return findings, nil
		}
	}
}

// Pod returns how a pod drifted, by its metadata and by what the next pod of its
// owner gets.
func (f *Finder) Pod(ctx context.Context, pod *metav1.PartialObjectMetadata) ([]Finding, error) {
	if pod.DeletionTimestamp != nil || pod.Namespace == f.Own {
		return nil, nil
	}
	labels, err := f.NamespaceLabels(ctx, pod.Namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil // deleted in the meantime
	}
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, s := range injector.Sidecars(pod.Annotations, injector.PodSubject(pod, labels), f.Templates) {
		if s.State == injector.Current || s.Source == "" {
			continue
		}
		owners, err := f.Owners(ctx, pod)
		if err != nil {
			return nil, err
		}
		next, err := f.nextPod(ctx, pod, owners)
		if apierrors.IsNotFound(err) {
			return nil, nil // ended in the meantime
		}
		if err != nil {
			return nil, err
		}
		finding, drifted := compare(s, next)
		if !drifted {
			continue
		}
		finding.Namespace, finding.Pod, finding.labels = pod.Namespace, pod.Name, pod.Labels
		if len(owners) > 0 {
			finding.top = &owners[len(owners)-1]
			finding.Owner = finding.top.String()
		}
		findings = append(findings, finding)
	}
	return findings, nil
}

// nextPod returns what the next pod of the topmost owner with a pod template
// gets, or what the pod itself would get without such an owner.
func (f *Finder) nextPod(ctx context.Context, pod *metav1.PartialObjectMetadata, owners []kubeconfig.Owner) (*kubeconfig.Prediction, error) {
	maker := kubeconfig.Owner{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	for _, owner := range owners {
		if owner.HoldsTemplate() {
			maker = owner
		}
	}
	if next, ok := f.next[maker.UID]; ok {
		return next, nil
	}
	w, err := f.Workload(ctx, maker.APIVersion, maker.Kind, maker.Namespace, maker.Name)
	if err != nil {
		return nil, err
	}
	next, err := f.Predict(ctx, w.NextPod(f.Templates))
	if err != nil {
		return nil, err
	}
	f.next[maker.UID] = next
	return next, nil
}

// compare compares a pod with what a new one gets.
func compare(s injector.Sidecar, next *kubeconfig.Prediction) (Finding, bool) {
	f := Finding{Template: s.Template, State: State(s.State), Have: s.Version, Want: s.Serving}
	gets := next.Template(s.Template)
	without := gets != nil && (!gets.Gets() || gets.Reason == reason.AlreadyPresent)
	switch {
	case next.Reason == string(reason.NamespaceExclude):
		return f, false
	case without && s.State == injector.Missing && !next.InjectionDenied():
		return f, false // a new pod also runs without it, or already has it
	case next.Denied:
		f.State, f.Reason = Denied, denial(next)
	case s.State == injector.Outdated:
		serving := "the template"
		if s.Revision != "" {
			serving = "the revision " + s.Revision
		}
		f.Reason = fmt.Sprintf("has version %s, %s is %s", kubeconfig.Short(s.Version), serving, kubeconfig.Short(s.Serving))
	default:
		f.Reason = fmt.Sprintf("%s asks for it; the pod was created before that, or while usher was down", s.Source)
	}
	if len(next.Notices) > 0 && !next.Denied {
		f.Reason += "; " + next.Notices[0]
	}
	return f, true
}

func denial(next *kubeconfig.Prediction) string {
	var lines []string
	for _, p := range next.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "; ")
}
