package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	apicel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/usher-dev/usher/webhook/webhookspec"
)

// oldest is the environment of CEL in the oldest supported Kubernetes.
var oldest = environment.MustBaseEnvSet(version.MajorMinor(1, 30))

// holds evaluates conditions as the API server does, and returns which of them
// are true and what share of the API server's budget they cost.
func holds(t *testing.T, object, old *unstructured.Unstructured, conditions ...admissionregistrationv1.MatchCondition) (results []bool, share float64) {
	t.Helper()
	expressions := make([]apicel.ExpressionAccessor, len(conditions))
	for i := range conditions {
		expressions[i] = (*matchconditions.MatchCondition)(&conditions[i])
	}
	compiled := apicel.NewConditionCompiler(oldest).CompileCondition(expressions, apicel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
	if errs := compiled.CompilationErrors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	kind, operation := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Any"}, admission.Update
	if old == nil {
		operation = admission.Create
	}
	attributes := &admission.VersionedAttributes{VersionedKind: kind, VersionedObject: admission.NewLazyObject(object)}
	var before runtime.Object
	if old != nil {
		before = old
		attributes.VersionedOldObject = admission.NewLazyObject(old)
	}
	attributes.Attributes = admission.NewAttributesRecord(object, before, kind, "shop", "app", schema.GroupVersionResource{}, "", operation, nil, false, nil)
	evaluated, left, err := compiled.ForInput(t.Context(), attributes, apicel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource{}, metav1.GroupVersionKind(kind)), apicel.OptionalVariableBindings{}, nil, celconfig.RuntimeCELCostBudgetMatchConditions)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range evaluated {
		if e.Error != nil {
			t.Fatal(e.Error)
		}
		value, _ := e.EvalResult.Value().(bool)
		results = append(results, value)
	}
	return results, 1 - float64(left)/celconfig.RuntimeCELCostBudgetMatchConditions
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestEachChangeOfASpecSatisfiesOneOfTheConditionsOfReplicas also shows that
// neither fails, because an error would refuse the request.
func TestEachChangeOfASpecSatisfiesOneOfTheConditionsOfReplicas(t *testing.T) {
	const only, more, none = "only replicas", "more", "neither"
	for name, tc := range map[string]struct{ old, is, want string }{
		"a creation":                         {``, `{"replicas":1}`, more},
		"nothing":                            {`{"replicas":1}`, `{"replicas":1}`, none},
		"replicas":                           {`{"replicas":1,"a":{"b":[1]}}`, `{"replicas":2,"a":{"b":[1]}}`, only},
		"replicas that appear":               {`{"a":1}`, `{"replicas":2,"a":1}`, only},
		"replicas that disappear":            {`{"replicas":2,"a":1}`, `{"a":1}`, only},
		"replicas and a field":               {`{"replicas":1,"a":1}`, `{"replicas":2,"a":2}`, more},
		"replicas and an item":               {`{"replicas":1,"a":[{"b":1},{"b":2}]}`, `{"replicas":2,"a":[{"b":1},{"b":3}]}`, more},
		"replicas and the order of a list":   {`{"replicas":1,"a":[1,2]}`, `{"replicas":2,"a":[2,1]}`, more},
		"replicas and a field that appears":  {`{"replicas":1}`, `{"replicas":2,"a":1}`, more},
		"replicas and one that disappears":   {`{"replicas":1,"a":1}`, `{"replicas":2}`, more},
		"replicas and one that becomes null": {`{"replicas":1,"a":1}`, `{"replicas":2,"a":null}`, more},
		"a field of another type":            {`{"replicas":1,"a":1}`, `{"replicas":1,"a":"1"}`, more},
		"a spec that disappears":             {`{"replicas":1}`, `null`, more},
		"a spec that is a list":              {`["replicas"]`, `["replicas","a"]`, more},
		"a spec that becomes a map":          {`"replicas"`, `{"replicas":1}`, more},
		"replicas that contain templates":    {`{"replicas":{"image":"a"}}`, `{"replicas":{"image":"b"}}`, more},
		"templates that become a number":     {`{"replicas":{"image":"a"}}`, `{"replicas":1}`, more},
		"a number that becomes templates":    {`{"replicas":1}`, `{"replicas":{"image":"a"}}`, more},
	} {
		t.Run(name, func(t *testing.T) {
			whole := func(spec, label string) *unstructured.Unstructured {
				if spec == "" {
					return nil
				}
				return object(t, `{"apiVersion":"example.com/v1","kind":"Any","metadata":{"name":"app","labels":{"a":"`+label+`"}},"spec":`+spec+`}`)
			}
			got, _ := holds(t, whole(tc.is, "b"), whole(tc.old, "c"), webhookspec.Condition("spec-changed", specChanged), changesOnlyReplicas, changesMore)
			changed, enforced := got[0], got[2]
			scaled := changed && got[1]
			text := map[[2]bool]string{{true, false}: only, {false, true}: more, {false, false}: none}[[2]bool{scaled, enforced}]
			if text != tc.want {
				t.Errorf("the change is selected as %q, want %q: %v", text, tc.want, got)
			}
		})
	}
}

// TestTheConditionsOfReplicasAreCheapForALargeObject: an error, also because of
// the cost, would refuse the request.
func TestTheConditionsOfReplicasAreCheapForALargeObject(t *testing.T) {
	var env []map[string]string
	for i := range 20_000 {
		env = append(env, map[string]string{"name": fmt.Sprintf("V%d", i), "value": strings.Repeat("x", 30)})
	}
	containers, err := json.Marshal(env)
	if err != nil {
		t.Fatal(err)
	}
	deployment := func(replicas int) *unstructured.Unstructured {
		return object(t, fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"app"},"spec":{"replicas":%d,"template":{"spec":{"containers":[{"name":"app","env":%s}]}}}}`, replicas, containers))
	}
	got, share := holds(t, deployment(1), deployment(2), judged(webhookspec.Condition("spec-changed", specChanged), changesOnlyReplicas, changesMore)...)
	if !got[len(got)-2] || share > 0.01 {
		t.Errorf("%v, %.2f %% of the budget for an object of %d bytes, want at most 1", got, 100*share, len(containers))
	}
}
