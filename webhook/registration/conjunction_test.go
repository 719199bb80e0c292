package registration

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/usher-dev/usher/webhook/webhookspec"
)

// match evaluates conditions as the oldest supported API server does, for a pod
// whose field spec.missing does not exist. asked counts what it asks the
// authorizer.
func match(t *testing.T, policy admissionregistrationv1.FailurePolicyType, conditions []admissionregistrationv1.MatchCondition) (result matchconditions.MatchResult, asked int) {
	t.Helper()
	expressions := make([]cel.ExpressionAccessor, len(conditions))
	for i := range conditions {
		expressions[i] = (*matchconditions.MatchCondition)(&conditions[i])
	}
	compiled := cel.NewConditionCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 30))).CompileCondition(
		expressions, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
	if errs := compiled.CompilationErrors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	authorize := authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		asked++
		return authorizer.DecisionAllow, "", nil
	})
	object, kind := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	attributes := &admission.VersionedAttributes{VersionedKind: kind, VersionedObject: admission.NewLazyObject(object)}
	attributes.Attributes = admission.NewAttributesRecord(object, nil, kind, "shop", "app", schema.GroupVersionResource{}, "", admission.Create, nil, false, nil)
	return matchconditions.NewMatcher(compiled, &policy, "webhook", "admit", "usher").Match(t.Context(), attributes, nil, authorize), asked
}

// TestConjunction_MeansWhatItsConditionsMean compares the result of the rendered
// condition with that of the declared ones.
func TestConjunction_MeansWhatItsConditionsMean(t *testing.T) {
	values := map[string]string{
		"true": `true`, "false": `false`, "an error": `object.spec.missing == 1`, "alternatives": `false || true`, "text": `"// && \" //" != ""`,
	}
	for first, a := range values {
		for second, b := range values {
			for _, policy := range []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore} {
				declared := []admissionregistrationv1.MatchCondition{webhookspec.Condition("first", a), webhookspec.Condition("second", b)}
				rendered := conjunction(declared)
				if len(rendered) != 1 {
					t.Fatalf("got %v", rendered)
				}
				want, _ := match(t, policy, declared)
				got, _ := match(t, policy, rendered)
				if got.Matches != want.Matches || (got.Error == nil) != (want.Error == nil) {
					t.Errorf("%s and %s, policy %s: got %+v, want %+v", first, second, policy, got, want)
				}
			}
		}
	}
}

func TestRender_AnObjectThatAnEntryDoesNotSelect_DoesNotCostAnAuthorization(t *testing.T) {
	target := Target{Namespace: "usher-system", Account: account}
	for selects, want := range map[string]int{"true": 1, "false": 0} {
		entry := webhookspec.Webhook{FailurePolicy: admissionregistrationv1.Fail, MatchConditions: []admissionregistrationv1.MatchCondition{webhookspec.Condition("own", selects)}}
		result, asked := match(t, admissionregistrationv1.Fail, render(target, "/attach", entry).MatchConditions)
		if result.Error != nil || asked != want {
			t.Errorf("own condition %s: asked %d times, want %d; result %+v", selects, asked, want, result)
		}
	}
}
