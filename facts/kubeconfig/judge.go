package kubeconfig

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// Judge decides about a pod as the webhook does when it is created, with some of
// the steps. listed is false if the user may not list the Networks, so that the
// step Connect was left out.
func (c *Cluster) Judge(ctx context.Context, pod *unstructured.Unstructured, steps verdict.Steps) (v *verdict.Verdict, listed bool, err error) {
	text, err := pod.MarshalJSON()
	if err != nil {
		return nil, false, err
	}
	object := verdict.Object{APIVersion: "v1", Kind: "Pod", Namespace: pod.GetNamespace(), Name: pod.GetName(), JSON: text}
	known, listed, err := c.gather(ctx, object, steps)
	if err != nil {
		return nil, false, err
	}
	if controlled(pod) {
		// The rules judged its workload.
		known.Levels.Enforce, known.Levels.Warn, known.Levels.Audit = finding.Off, finding.Off, finding.Off
	}
	v, err = verdict.Judge(ctx, object, nil, known)
	return v, listed, err
}

// gather reads the facts about an object.
func (c *Cluster) gather(ctx context.Context, object verdict.Object, steps verdict.Steps) (known *verdict.Facts, listed bool, err error) {
	labels, err := c.NamespaceLabels(ctx, object.Namespace)
	if err != nil {
		return nil, false, err
	}
	evaluator, err := c.configuration.Evaluator()
	if err != nil {
		return nil, false, err
	}
	known = &verdict.Facts{
		Steps: steps, Defaulted: true, NamespaceLabels: labels, Scope: c.Scope, Configuration: c.configuration.Configuration,
		Templates: c.Templates, NativeSidecars: c.NativeSidecars, Server: c.server, Evaluator: evaluator, Transitions: transition.All(),
		Lister: lister{ctx, c}, Explain: true,
		LimitRanges: func() []corev1.LimitRange { return cluster.LimitRanges(ctx, c, object.Namespace) },
	}
	// A label with an invalid value has no effect, as in the webhook.
	known.Levels, _ = config.FromLabels(labels, c.configuration.Policies)
	if steps&verdict.Connect == 0 {
		return known, true, nil
	}
	if known.Networks, listed, err = c.networks(ctx, object.Namespace, object.JSON); !listed {
		known.Steps &^= verdict.Connect
	}
	return known, listed, err
}

// controlled reports whether the controller of a workload creates the pod.
func controlled(pod *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && kinds.Find(owner.APIVersion, owner.Kind).Is(kinds.Pods)
}
