package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/decision"
)

// A Cluster is where usher should work, and what the checks look at.
type Cluster struct {
	Clients kubernetes.Interface
	*kubeconfig.Cluster
	// Namespace is whose pods, Events and levels are checked; "" means every
	// namespace.
	Namespace string
	// Try is the namespace of the dry run.
	Try string
	Now time.Time

	scope decision.Scope
	// configurations are the installation's own; nil if they could not be read.
	configurations *configurations
}

// Check runs the checks of an installation.
func (c *Cluster) Check(ctx context.Context) (*Report, error) {
	var err error
	if _, c.scope, err = c.Registered(ctx, c.Client); err != nil {
		return nil, err
	}
	r := &Report{}
	for _, section := range []func(context.Context) []Check{
		c.registration, c.webhook, c.certificates, c.configuration, c.controllers, c.templates, c.refusals, c.namespaces, c.injection,
	} {
		r.Checks = append(r.Checks, section(ctx)...)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// unread is the check of something that could not be read, such as "list
// deployments in namespace usher-system".
func unread(section, name, doing string, err error) Check {
	if apierrors.IsForbidden(err) {
		return Check{section, name, Unknown, "you may not " + doing, "ask an administrator for the right, or select another user with --context or --as"}
	}
	return Check{section, name, Unknown, fmt.Sprintf("the request to %s failed: %v", doing, err), ""}
}

// may reports whether the user has a right; on "" as the namespace, in all of them.
func may(ctx context.Context, clients kubernetes.Interface, right authorizationv1.ResourceAttributes) (bool, error) {
	review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking for the right to %s %s: %w", right.Verb, right.Resource, err)
	}
	return review.Status.Allowed, nil
}

// EveryNamespace reports whether the user may see the pods of every namespace.
func EveryNamespace(ctx context.Context, clients kubernetes.Interface) (bool, error) {
	return may(ctx, clients, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"})
}

// where names the namespaces that are checked.
func (c *Cluster) where() string {
	if c.Namespace == "" {
		return "all namespaces"
	}
	return "namespace " + c.Namespace
}

// drift is the command that lists the pods without current sidecars.
func (c *Cluster) drift() string {
	if c.Namespace == "" {
		return "usher drift -A"
	}
	return "usher drift -n " + c.Namespace
}

// logs is the command that shows what the replicas of a component say.
func (c *Cluster) logs(component string) string {
	return fmt.Sprintf("kubectl -n %s logs -l %s --all-containers --since=15m", c.Own, componentLabel(component))
}

// few names the first of many.
func few(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// ago is a duration as people say it.
func ago(d time.Duration) string {
	d = max(d, 0)
	if d < 2*time.Minute {
		return finding.Count(int(d.Seconds()), "second")
	}
	if d < 2*time.Hour {
		return finding.Count(int(d.Minutes()), "minute")
	}
	if d < 48*time.Hour {
		return finding.Count(int(d.Hours()), "hour")
	}
	return finding.Count(int(d.Hours()/24), "day")
}

// causes are the reasons of a refusal, or its message.
func causes(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	return status.Status().Message
}

// sorted returns the names without repetitions.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
