package deploy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/rights"
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
	// The registration goes with usher's namespace, see TestRemovalInAnyOrder, and
	// an admission plugin requires these for setting an owner.
	"delete mutatingwebhookconfigurations named usher",
	"delete validatingwebhookconfigurations named usher",
	"list clusterroles named usher-webhook",
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
	unused := unseen
	if before, err := c.plane.Before(33); err != nil {
		t.Fatal(err)
	} else if before {
		unused = append(slices.Clone(unseen), "list servicecidrs")
	}
	compareRights(t, c.audited(t, controlplane.WebhookUser), grants(t, "usher-webhook"), unused, func(e *rights.Event) bool {
		// Absence warnings read these, and the overlay allows it.
		return e.Verb == "get" && slices.Contains([]string{"configmaps", "secrets", "persistentvolumeclaims"}, e.ObjectRef.Resource)
	})
}

// TestTheWebhookMayReadEveryKindOfTheTable compares the rights in usher.yaml with
// the kinds that rules list, and with those whose Scale the webhook judges.
func TestTheWebhookMayReadEveryKindOfTheTable(t *testing.T) {
	granted := grants(t, "usher-webhook")
	may := func(verb string, k *kinds.Kind) {
		if !granted[verb+" "+k.Resource] {
			t.Errorf("the webhook may not %s %s", verb, k.Resource)
		}
	}
	for _, k := range kinds.With(0, 0) {
		if k.Is(kinds.Listed) {
			may("list", k)
		}
		if k.Replicas() != nil {
			may("get", k)
		}
	}
}

// TestNobodyMayCreateTokens: with a token of a ServiceAccount usher could act as
// any tenant. The kubelet gives pods their tokens.
func TestNobodyMayCreateTokens(t *testing.T) {
	granted := grants(t, "usher")
	if !granted["update etcdbackups/status"] && !granted["patch etcdbackups/status"] {
		t.Fatal("the rights of the controller are not among those read")
	}
	for right := range granted {
		if _, resource, _ := strings.Cut(right, " "); strings.HasPrefix(resource, "serviceaccounts/") || strings.Contains(resource, "*") {
			t.Errorf("usher may %s", right)
		}
	}
}

// compareRights compares used with granted rights, as rights.Compare does.
func compareRights(t *testing.T, done []rights.Event, granted map[string]bool, unseen []string, refused func(*rights.Event) bool) {
	t.Helper()
	for _, problem := range rights.Compare(done, granted, unseen, refused) {
		t.Error(problem)
	}
}

// grants returns the rights in usher.yaml from roles whose names begin with the
// account's, except some.
func grants(t *testing.T, account string, without ...string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return rights.In(roles(t, string(text), func(name string) bool {
		return strings.HasPrefix(name, account) && !slices.Contains(without, name)
	}))
}

func roles(t *testing.T, manifests string, match func(name string) bool) []rbacv1.ClusterRole {
	t.Helper()
	all, err := rights.Roles(manifests, match)
	if err != nil {
		t.Fatal(err)
	}
	return all
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
		"another ClusterRole":                        {"watch", "rbac.authorization.k8s.io", "clusterroles", "", "admin", false},
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
