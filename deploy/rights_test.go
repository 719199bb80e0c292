package deploy_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/controlplane"
)

// unseen are rights that the features need not use in this test, because they
// are for rare situations.
var unseen = []string{
	// Informers list if the server cannot stream the existing objects.
	"list namespaces",
	"list mutatingwebhookconfigurations named usher",
	"list validatingwebhookconfigurations named usher",
	"list secrets in usher-system named usher-ca",
	// A replica that seeks the Lease as a pod of the newest ReplicaSet.
	"get pods in usher-system",
	// usher removes others' edits from the registration.
	"update mutatingwebhookconfigurations named usher",
	"update validatingwebhookconfigurations named usher",
	// The CA changes once every webhook has the next one.
	"get validatingwebhookconfigurations named usher",
	"update secrets in usher-system named usher-ca",
	"create events in usher-system",
	"patch events in usher-system",
}

// TestTheWebhookHasTheRightsItUsesAndNoOthers compares the rights in usher.yaml
// with the API server's audit log while every feature ran.
func TestTheWebhookHasTheRightsItUsesAndNoOthers(t *testing.T) {
	c := started(t)
	for _, feature := range features {
		t.Run(feature.name, func(t *testing.T) { feature.run(t, c) })
	}
	compareRights(t, c.audited(t, controlplane.WebhookUser), grants(t, "usher-webhook"), unseen, func(e *event) bool {
		// Absence warnings read these, and the overlay allows it.
		return e.Verb == "get" && slices.Contains([]string{"configmaps", "secrets", "persistentvolumeclaims"}, e.ObjectRef.Resource)
	})
}

// compareRights compares used with granted rights. Rights in unseen need not be
// used; refused lists requests that may be refused.
func compareRights(t *testing.T, done []event, granted map[string]bool, unseen []string, refused func(*event) bool) {
	t.Helper()
	used := map[string]bool{}
	for _, e := range done {
		switch right := e.right(granted); {
		case e.ResponseStatus.Code != 403:
			used[right] = true
			// A patch that creates needs both rights.
			if created := strings.Replace(right, "patch", "create", 1); e.Verb == "patch" && e.ResponseStatus.Code == 201 && granted[created] {
				used[created] = true
			}
		case !refused(&e):
			t.Errorf("refused: %s %s", right, e.ObjectRef.Name)
		}
	}
	for _, right := range unseen {
		if !granted[right] {
			t.Errorf("%q is not granted", right)
		}
		delete(granted, right)
		delete(used, right)
	}
	got, want := slices.Sorted(maps.Keys(granted)), slices.Sorted(maps.Keys(used))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights (-used +granted):\n%s", diff)
	}
}

// grants returns the rights in usher.yaml from roles whose names begin with the
// account's, except some, one line per verb and resource.
func grants(t *testing.T, account string, without ...string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "Role" && role.Kind != "ClusterRole" {
			continue
		}
		if !strings.HasPrefix(role.Name, account) || slices.Contains(without, role.Name) {
			continue
		}
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					for _, name := range names {
						all[describe(verb, resource, role.Namespace, name)] = true
					}
				}
			}
		}
	}
	return all
}

// describe formats a right for this test.
func describe(verb, resource, namespace, name string) string {
	text := verb + " " + resource
	if namespace != "" {
		text += " in " + namespace
	}
	if name != "" {
		text += " named " + name
	}
	return text
}

func TestTheBaseGrantsNothingBroad(t *testing.T) {
	c := started(t)
	tests := map[string]struct {
		verb, group, resource, namespace, name string
		allowed                                bool
	}{
		"its own CA":                                 {"get", "", "secrets", "usher-system", "usher-ca", true},
		"another Secret of its namespace":            {"get", "", "secrets", "usher-system", "other", false},
		"the Secrets of its namespace":               {"list", "", "secrets", "usher-system", "", false},
		"a Secret of another namespace":              {"get", "", "secrets", "default", "usher-ca", false},
		"ConfigMaps of another namespace":            {"list", "", "configmaps", "default", "", false},
		"writing a template":                         {"update", "", "configmaps", "usher-system", "envoy-initializer", false},
		"pods where templates are proved":            {"create", "", "pods", "usher-proof", "", true},
		"pods elsewhere":                             {"create", "", "pods", "default", "", false},
		"pods in its own namespace":                  {"create", "", "pods", "usher-system", "", false},
		"its registration":                           {"patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "usher", true},
		"another's registration":                     {"patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "other", false},
		"making a registration of another name":      {"create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "other", false},
		"changing a workload":                        {"update", "apps", "deployments", "default", "app", false},
		"labelling a namespace":                      {"patch", "", "namespaces", "", "default", false},
		"giving itself rights":                       {"update", "rbac.authorization.k8s.io", "clusterroles", "", "usher-webhook", false},
		"acting as another":                          {"impersonate", "", "users", "", "admin", false},
		"taking the policy off where pods are tried": {"delete", "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "", "usher-proof", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := c.may(t, tc.verb, tc.group, tc.resource, tc.namespace, tc.name); got != tc.allowed {
				t.Errorf("allowed is %t, want %t", got, tc.allowed)
			}
		})
	}
}
