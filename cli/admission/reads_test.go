package admission

import (
	"testing"

	v1 "k8s.io/api/admissionregistration/v1"
)

// TestScanPolicy_FindsWhatOnlyARequestHas scans an expression after two variables, of
// which the second names the first.
func TestScanPolicy_FindsWhatOnlyARequestHas(t *testing.T) {
	for expression, want := range map[string]reads{
		"object.spec.replicas < 3":                                           0,
		"request.operation == 'CREATE' && request.dryRun":                    0,
		"'authorizer' in object.metadata.labels":                             0,
		"object.authorizer.request.userInfo":                                 0,
		"[1].all(request, request.userInfo > 0)":                             0,
		"[1].all(authorizer, authorizer > 0) && [2].exists(a, a > 0)":        0,
		"request.?userInfo.orValue(0) ==":                                    0, // does not compile
		"authorizer.group('').resource('pods').check('get').allowed()":       readsAuthorizer,
		"authorizer.requestResource.check('get').allowed()":                  readsAuthorizer,
		".authorizer != null":                                                readsAuthorizer,
		"request.userInfo.username == 'a'":                                   readsUser,
		"has(request.userInfo.extra)":                                        readsUser,
		"has(request.userInfo)":                                              readsUser,
		"[1].all(a, request.userInfo.groups.exists(g, g == 'a'))":            readsUser,
		"request.userInfo.groups.exists(request, request == 'a')":            readsUser,
		"[request.userInfo.username][0] == 'a'":                              readsUser,
		"{'a': request.userInfo.username}.a == 'a'":                          readsUser,
		"object.a ? request.options.x : namespaceObject.metadata.name == ''": readsOptions | readsNamespace,
		"request.?userInfo.hasValue()":                                       readsUser,
		"request.?namespace.hasValue()":                                      0,
		"dyn(request).x":                                                     readsUser | readsOptions,
		"variables.user == 'a'":                                              readsUser,
		"variables.both":                                                     readsUser | readsNamespace,
		"variables.none":                                                     0,
		"dyn(variables).x":                                                   readsUser | readsNamespace,
	} {
		p := &v1.ValidatingAdmissionPolicy{Spec: v1.ValidatingAdmissionPolicySpec{
			Variables: []v1.Variable{
				{Name: "none", Expression: "object.x"}, {Name: "user", Expression: "request.userInfo.username"},
				{Name: "both", Expression: "namespaceObject.metadata.name == variables.user"},
			},
			Validations: []v1.Validation{{Expression: expression}},
		}}
		s, err := scanPolicy(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.validations[0]; got != want {
			t.Errorf("%s reads %q, want %q", expression, got, want)
		}
	}
}
