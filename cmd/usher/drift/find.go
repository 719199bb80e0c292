// Package drift finds pods whose sidecars are old or missing, and rolls the
// workloads that make them.
package drift

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/cmd/usher/live"
	"github.com/usher-dev/usher/injector"
)

// A State says how a pod differs from what it should be.
type State string

// The states of a pod that drifted.
const (
	// Outdated pods have the template, of another version than the one that
	// serves.
	Outdated State = "outdated"
	// Missing pods ask for the template, would get it now, and run without.
	Missing State = "missing"
	// Denied pods ask for the template and would be denied now.
	Denied State = "denied"
)

// A Finding is one pod and one template of it.
type Finding struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// Owner is the workload that makes the pod, "" for a pod of its own.
	Owner    string `json:"owner,omitempty"`
	Template string `json:"template"`
	State    State  `json:"state"`
	Reason   string `json:"reason"`
	Have     string `json:"have,omitempty"`
	Want     string `json:"want,omitempty"`

	top    *live.Owner
	labels map[string]string
}

// page is how many pods are listed at once.
const page = 500

// running leaves out pods that have ended.
var running = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

// Find lists the pods of a namespace, or of all with "", that drifted. It
// lists their metadata in pages, and reads the whole of those alone whose
// record lacks a template they ask for.
func Find(ctx context.Context, c *live.Cluster, namespace string) ([]Finding, error) {
	var findings []Finding
	owners := map[string][]live.Owner{}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: running},
			client.Limit(page), client.Continue(list.Continue))
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		for i := range list.Items {
			found, err := judge(ctx, c, &list.Items[i], owners)
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

func judge(ctx context.Context, c *live.Cluster, pod *metav1.PartialObjectMetadata, known map[string][]live.Owner) ([]Finding, error) {
	if pod.DeletionTimestamp != nil || pod.Namespace == c.Own {
		return nil, nil
	}
	labels, err := c.NamespaceLabels(ctx, pod.Namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil // deleted meanwhile
	}
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, d := range injector.Drifts(pod.Annotations, labels, c.Templates) {
		f := Finding{Namespace: pod.Namespace, Pod: pod.Name, Template: d.Template, Have: d.Have, Want: d.Want, labels: pod.Labels}
		f.State, f.Reason = Outdated, fmt.Sprintf("has version %s, the template is %s", short(d.Have), short(d.Want))
		if !d.Outdated() {
			is, err := f.missing(ctx, c, d)
			if err != nil {
				return nil, err
			}
			if !is {
				continue
			}
		} else if d.Want == "" {
			f.State, f.Reason = Denied, gone(c, d.Template)
		}
		chain, err := ownersOf(ctx, c, pod, known)
		if err != nil {
			return nil, err
		}
		if len(chain) > 0 {
			f.top = &chain[len(chain)-1]
			f.Owner = f.top.String()
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// missing decides on the whole pod whether it should have the template.
func (f *Finding) missing(ctx context.Context, c *live.Cluster, d injector.Drift) (bool, error) {
	pod := &unstructured.Unstructured{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	err := c.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: f.Pod}, pod)
	if apierrors.IsNotFound(err) {
		return false, nil // ended meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("reading the pod %s/%s: %w", f.Namespace, f.Pod, err)
	}
	object, err := pod.MarshalJSON()
	if err != nil {
		return false, err
	}
	decision, err := c.Decide(ctx, "Pod", f.Namespace, object)
	if err != nil {
		return false, err
	}
	if decision.Withheld(d.Template) {
		return false, nil
	}
	f.State, f.Reason = Missing, fmt.Sprintf("%s asks for it; created before it did, or while usher was down", d.Source)
	if decision.Denied {
		f.State, f.Reason = Denied, decision.Message()
	}
	if absent := c.Absent(ctx, f.Namespace, d.Template); len(absent) > 0 {
		f.Reason += "; " + absent[0]
	}
	return true, nil
}

// gone says why no version of a template serves.
func gone(c *live.Cluster, template string) string {
	if entry, ok := c.Templates.Get(template); ok {
		return fmt.Sprintf("the template cannot be used: %v", entry.Err)
	}
	return "the template does not exist any more"
}

// ownersOf follows the controllers of a pod, once for each controller.
func ownersOf(ctx context.Context, c *live.Cluster, pod *metav1.PartialObjectMetadata, known map[string][]live.Owner) ([]live.Owner, error) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil, nil
	}
	key := string(ref.UID)
	if chain, ok := known[key]; ok {
		return chain, nil
	}
	chain, err := c.Owners(ctx, pod.Namespace, pod.OwnerReferences)
	if err != nil {
		return nil, err
	}
	known[key] = chain
	return chain, nil
}

// short is a version as people tell it apart.
func short(version string) string {
	const most = len("sha256:") + 12
	if len(version) > most {
		return version[:most]
	}
	return version
}
