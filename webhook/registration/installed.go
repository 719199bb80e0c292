package registration

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/webhook/webhookspec"
)

// account asks the API server for the ServiceAccount that usher uses. It is
// empty if usher uses another user, or may not ask.
func (r *Registrar) account(ctx context.Context) (*types.NamespacedName, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := r.Client.Create(ctx, review); apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		r.Log.Info("webhooks that fail closed will do so until they are removed, because usher cannot learn its own user", "error", err.Error())
		return &types.NamespacedName{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("asking the API server for usher's own user: %w", err)
	}
	return serviceAccount(review.Status.UserInfo.Username), nil
}

// serviceAccount returns the ServiceAccount of a user, or an empty name.
func serviceAccount(user string) *types.NamespacedName {
	namespaced, is := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, name, both := strings.Cut(namespaced, ":")
	if !is || !both {
		return &types.NamespacedName{}
	}
	return &types.NamespacedName{Namespace: namespace, Name: name}
}

// installed is true, in CEL, while usher may hold its Lease. The right is in
// usher's own namespace and goes with it, or with the manifest or the chart, in
// whatever order they are deleted and whether a replica runs or not. From then
// on nobody can register, so webhooks that fail closed no longer refuse
// anything. An authorizer that does not answer proves nothing.
func installed(target Target) admissionregistrationv1.MatchCondition {
	return webhookspec.Condition("usher-is-installed", fmt.Sprintf(
		`[authorizer.serviceAccount(%s, %s).group("coordination.k8s.io").resource("leases").namespace(%s).name(%s).check("update")].exists(d, d.allowed() || d.errored())`,
		quote(target.Account.Namespace), quote(target.Account.Name), quote(target.Namespace), quote(LeaseName)))
}

// quote encodes a string in CEL.
func quote(s string) string {
	quoted, _ := jsontext.AppendQuote(nil, s)
	return string(quoted)
}
