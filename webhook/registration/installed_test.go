package registration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/usher-dev/usher/webhook/webhookspec"
)

var account = types.NamespacedName{Namespace: "usher-system", Name: "usher-webhook"}

// TestInstalled evaluates the condition as the oldest supported API server does.
func TestInstalled(t *testing.T) {
	condition := matchconditions.MatchCondition(installed(Target{Namespace: "usher-system", Account: account}))
	compiled := cel.NewConditionCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 30))).CompileCondition(
		[]cel.ExpressionAccessor{&condition}, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
	if errs := compiled.CompilationErrors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	policy := admissionregistrationv1.Fail
	matcher := matchconditions.NewMatcher(compiled, &policy, "webhook", "validating", "usher")
	for name, tc := range map[string]struct {
		decision authorizer.Decision
		err      error
		want     bool
	}{
		"usher may hold its Lease":         {authorizer.DecisionAllow, nil, true},
		"usher may not":                    {authorizer.DecisionNoOpinion, nil, false},
		"usher must not":                   {authorizer.DecisionDeny, nil, false},
		"the authorizer does not answer":   {authorizer.DecisionNoOpinion, errors.New("no route to host"), true},
		"one of two authorizers says that": {authorizer.DecisionAllow, errors.New("no route to host"), true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			authorize := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
				asked = []string{a.GetUser().GetName(), a.GetVerb(), a.GetAPIGroup(), a.GetResource(), a.GetNamespace(), a.GetName()}
				return tc.decision, "", tc.err
			})
			object, kind := &unstructured.Unstructured{Object: map[string]any{}}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
			attributes := &admission.VersionedAttributes{VersionedKind: kind, VersionedObject: admission.NewLazyObject(object)}
			attributes.Attributes = admission.NewAttributesRecord(object, nil, kind, "shop", "app", schema.GroupVersionResource{}, "", admission.Create, nil, false, nil)
			got := matcher.Match(t.Context(), attributes, nil, authorize)
			if got.Error != nil || got.Matches != tc.want {
				t.Errorf("got %+v, want %t", got, tc.want)
			}
			want := []string{"system:serviceaccount:usher-system:usher-webhook", "update", "coordination.k8s.io", "leases", "usher-system", "usher-registration"}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyWebhooksThatFailClosedNeedAnInstallation(t *testing.T) {
	for name, tc := range map[string]struct {
		policy  admissionregistrationv1.FailurePolicyType
		account types.NamespacedName
		want    bool
	}{
		"fails closed":                     {admissionregistrationv1.Fail, account, true},
		"fails closed, by an unknown user": {admissionregistrationv1.Fail, types.NamespacedName{}, false},
		"fails open":                       {admissionregistrationv1.Ignore, account, false},
	} {
		t.Run(name, func(t *testing.T) {
			// With room for another condition, which must not end up in the declaration.
			declared := slices.Grow([]admissionregistrationv1.MatchCondition{webhookspec.Condition("own", "true")}, 1)
			rendered := render(Target{Namespace: "usher-system", Account: tc.account}, "/validate", webhookspec.Webhook{FailurePolicy: tc.policy, MatchConditions: declared})
			if c := rendered.MatchConditions; len(c) != 1 || strings.Contains(c[0].Expression, "// usher-is-installed\n") != tc.want {
				t.Errorf("the conditions are %v", c)
			}
			if extra := declared[:2][1]; extra.Name != "" {
				t.Errorf("the declaration has the condition %q", extra.Name)
			}
		})
	}
}

func TestServiceAccountOfAUser(t *testing.T) {
	for user, want := range map[string]types.NamespacedName{
		"system:serviceaccount:usher-system:usher-webhook": account,
		"system:serviceaccount:usher-system":               {},
		"system:serviceaccounts:usher-system:x":            {},
		"kubernetes-admin":                                 {},
		"":                                                 {},
	} {
		if got := *serviceAccount(user); got != want {
			t.Errorf("%q: got %s, want %s", user, got, want)
		}
	}
}
