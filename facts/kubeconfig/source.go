package kubeconfig

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/verdict"
)

// Judge decides about a pod as the webhook does when it is created.
func (c *Cluster) Judge(ctx context.Context, pod *unstructured.Unstructured, steps verdict.Steps) (*verdict.Verdict, error) {
	text, err := pod.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return facts.Judge(ctx, c, facts.Request{
		Object: verdict.Object{APIVersion: "v1", Kind: "Pod", Namespace: pod.GetNamespace(), Name: pod.GetName(), JSON: text}, Steps: steps,
	})
}

// Gather implements facts.Source. It leaves out the steps for which the user may
// not read the facts: those about templates, and the one about Networks.
func (c *Cluster) Gather(ctx context.Context, r facts.Request) (*verdict.Facts, error) {
	labels, err := c.NamespaceLabels(ctx, r.Object.Namespace)
	if err != nil {
		return nil, err
	}
	return c.gather(ctx, r, labels, c.objects.Direct(ctx, r.Object.Namespace))
}

func (c *Cluster) gather(ctx context.Context, r facts.Request, labels map[string]string, objects policies.Lister) (*verdict.Facts, error) {
	known := c.world.About(labels, r.Steps)
	known.Lister, known.Scaled = objects, r.Scaled
	if ns := c.namespaces[r.Object.Namespace]; ns != nil {
		known.NamespaceAnnotations = ns.Annotations
	}
	if c.Templates == nil {
		known.Steps &^= verdict.PropagateOptIn | verdict.Inject | verdict.VerifyMandatory | verdict.VerifyUpdate
	}
	if r.Object.Kind == "Pod" && controlled(r.Object.JSON) {
		// The rules judge its workload.
		known.Levels.Enforce, known.Levels.Warn, known.Levels.Audit = finding.Off, finding.Off, finding.Off
	}
	if known.Steps&verdict.Connect == 0 {
		return known, nil
	}
	err := (&cluster.Networks{Reader: c}).Gather(ctx, r, known)
	if forbidden(err) {
		known.Steps &^= verdict.Connect
		return known, nil
	}
	return known, err
}

// Renew implements facts.Source: a command reads every fact when it needs it.
func (c *Cluster) Renew(context.Context, facts.Request, *verdict.Facts, verdict.Need) (bool, error) {
	return false, nil
}

// controlled reports whether the controller of a workload creates the pod.
func controlled(pod []byte) bool {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(pod, &object) != nil {
		return false // the verdict says why
	}
	owner := metav1.GetControllerOfNoCopy(&object)
	return owner != nil && kinds.Find(owner.APIVersion, owner.Kind).Is(kinds.Pods)
}

// forbidden reports whether the API server refuses to let the user read something,
// whatever else an error says.
func forbidden(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(several.Unwrap(), forbidden)
	}
	return apierrors.IsForbidden(err)
}
