package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/facts/refused"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
)

// dryRun creates a pod with a dry run, so that the API server stores nothing.
func (c *Cluster) dryRun(ctx context.Context, pod *unstructured.Unstructured) (*Prediction, error) {
	namespace := pod.GetNamespace()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "pods"},
	}}
	if err := c.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("asking for the right to create pods in namespace %s: %w", namespace, err)
	}
	if !review.Status.Allowed {
		return &Prediction{Templates: []Template{}, Unknown: fmt.Sprintf("you may neither read the templates in namespace %s nor create pods in namespace %s for a dry run", c.Own, namespace)}, nil
	}
	n := &Prediction{By: ByDryRun, Templates: []Template{}}
	created, err := c.create(ctx, pod, n)
	var status apierrors.APIStatus
	switch {
	case n.Unknown != "":
		return n, nil
	case err == nil:
		return n, c.read(ctx, n, pod, created)
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError, !errors.As(err, &status):
		return nil, fmt.Errorf("creating a pod in namespace %s (dry run): %w", namespace, err)
	}
	n.deny(status.Status())
	if n.Denied && metav1.GetControllerOf(pod) != nil && n.byRules() {
		// The rules judge a pod that a user creates; a controller's pods are judged
		// with their workload.
		return &Prediction{Templates: []Template{}, Unknown: "usher's rules deny such a pod if you create it yourself, but not if a controller does: " + n.Problems[0].String()}, nil
	}
	return n, nil
}

// create sends the dry run. The values of a template may contain the name of a pod
// without a controller, so the API server first judges such a pod under its name.
// If the pod exists, only another name shows what it gets.
func (c *Cluster) create(ctx context.Context, pod *unstructured.Unstructured, n *Prediction) (created *unstructured.Unstructured, err error) {
	create := func(created *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		c.warnings.take()
		err := c.dry.Create(ctx, created, client.DryRunAll)
		n.Warnings = c.warnings.take()
		return created, err
	}
	exists := false
	if metav1.GetControllerOf(pod) == nil {
		// The API server answers that a pod exists only after it has admitted it.
		if created, err = create(pod.DeepCopy()); !apierrors.IsAlreadyExists(err) {
			return created, err
		}
		exists = true
	}
	renamed := pod.DeepCopy()
	if renamed.GetName() != "" {
		renamed.SetGenerateName(renamed.GetName() + "-")
		renamed.SetName("")
	}
	created, err = create(renamed)
	var status apierrors.APIStatus
	if exists && apierrors.IsForbidden(err) && errors.As(err, &status) {
		n.deny(status.Status())
		*n = Prediction{Templates: []Template{}, Unknown: fmt.Sprintf(
			"the API server admits the pod, but a dry run shows what it gets only under another name, which is denied: %s", n.Problems[0])}
		return nil, nil
	}
	return created, err
}

// byRules reports whether the rules deny the pod, and not its injection.
func (n *Prediction) byRules() bool {
	return n.Reason != "" && reason.Reason(n.Reason).Explain() == ""
}

// read reads from the record of the created pod what it got.
func (c *Cluster) read(ctx context.Context, n *Prediction, asked, created *unstructured.Unstructured) error {
	labels, err := c.NamespaceLabels(ctx, asked.GetNamespace())
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	before, _ := injector.ParseRecord(asked.GetAnnotations())
	n.Reason = string(reason.NotAsked)
	for _, sidecar := range injector.Sidecars(created.GetAnnotations(), injector.PodSubject(created, labels), nil) {
		t := Template{Name: sidecar.Template, Version: sidecar.Version, Source: sidecar.Source, Record: sidecar.Record}
		_, had := before[sidecar.Template]
		switch {
		case sidecar.State == injector.Missing:
			t.Detail = "left out"
			if n.Reason == string(reason.NotAsked) {
				n.Reason = ""
			}
			says := func(warning string) bool { return strings.Contains(warning, sidecar.Template) }
			n.Unanswered = n.Unanswered || !slices.ContainsFunc(n.Warnings, says) // usher's warning would say why
		case had:
			t.Reason = reason.AlreadyInjected
		default:
			t.Reason = reason.Injected
		}
		if t.Gets() && n.Reason != string(reason.Injected) {
			n.Reason = string(t.Reason)
		}
		n.Templates = append(n.Templates, t)
	}
	return nil
}

// deny reads from the API server's response why it refuses the pod. usher's own
// denial has a cause for each problem.
func (n *Prediction) deny(status metav1.Status) {
	n.Denied = true
	said, byWebhook := refused.ByWebhook(status.Message)
	if byWebhook && status.Details != nil {
		for _, cause := range status.Details.Causes {
			n.Problems = append(n.Problems, Problem{string(cause.Type), cause.Field, cause.Message})
		}
	}
	if len(n.Problems) > 0 {
		n.Reason = n.Problems[0].Reason
		return
	}
	if !byWebhook {
		said = status.Message
	}
	n.Problems = []Problem{{Message: said}}
}

// warnings collects the API server's warnings.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// take returns the warnings since its last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}
