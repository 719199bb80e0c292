package deploy_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/rights"
)

// neutronUser has only the rights that the overlay for Neutron gives to the
// controller of Networks.
const (
	neutronAccount = "neutron"
	neutronUser    = "system:serviceaccount:" + controlplane.Namespace + ":" + neutronAccount
)

// unseenWithNeutron are rights that this test does not need, because no Neutron
// answers here.
var unseenWithNeutron = []string{
	// The audit begins with the networks in Neutron.
	"get networks",
	// Informers list if the server cannot stream the existing objects.
	"list networks",
	// Controllers of features that namespaces ask for.
	"list namespaces",
	"watch namespaces",
	"patch events",
	"patch events in usher-system",
}

// TestNeutronsOverlayHasTheRightsItUsesAndNoOthers runs the controller of
// Networks alone, with the rights of the overlay, against a Keystone that does
// not answer. The tests in test/neutron use a real one.
func TestNeutronsOverlayHasTheRightsItUsesAndNoOthers(t *testing.T) {
	c := started(t)
	granted := roles(t, string(kustomize(t, "overlays/neutron")), func(name string) bool {
		return name == "usher-controller" || name == "usher-controller-network"
	})
	config := c.account(t, neutronAccount, granted)
	// That of other tests' controllers.
	c.kubectl(t, "delete", "lease", controllers.LeaseName, "-n", controlplane.Namespace, "--ignore-not-found")
	clouds := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(clouds, []byte(`clouds: {openstack: {auth: {auth_url: "http://127.0.0.1:1/v3", username: u, password: p,
project_name: p, user_domain_name: Default, project_domain_name: Default}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- controllers.Run(ctx, config, controllers.Options{
			Namespace: controlplane.Namespace, LeaderElection: true, HealthAddress: "0", MetricsAddress: "0", Log: logr.Discard(), Repeated: true,
			Controllers: []string{"network"}, Network: controllers.NetworkOptions{Backend: "neutron", CloudsFile: clouds, Cloud: "openstack"},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	ns := c.newNamespace(t, nil)
	c.apply(t, ns, network("cloud", "10.92.0.0/24", "10.92.0.1"))
	c.untilThere(t, ns, "networks.samplecrd.k8s.io", "cloud", "reason: BackendUnavailable")
	c.untilThere(t, ns, "networks.samplecrd.k8s.io", "cloud", "- samplecrd.k8s.io/network")
	c.until(t, "an Event is written", func() bool {
		for _, e := range c.audited(t, neutronUser) {
			if e.ObjectRef.Resource == "events" && e.ObjectRef.Namespace == ns {
				return true
			}
		}
		return false
	})
	// As docs/operations.md says of a backend that never answers again.
	c.kubectl(t, "delete", "networks.samplecrd.k8s.io", "cloud", "-n", ns, "--wait=false")
	c.kubectl(t, "patch", "networks.samplecrd.k8s.io", "cloud", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	c.untilGone(t, ns, "networks.samplecrd.k8s.io", "cloud")
	compareRights(t, c.audited(t, neutronUser), rights.In(granted), unseenWithNeutron, nil)
}

// account creates a ServiceAccount in usher's namespace with those rights, and
// connects as it once the API server knows them.
func (c *cluster) account(t *testing.T, name string, roles []rbacv1.ClusterRole) *rest.Config {
	t.Helper()
	ctx, own := t.Context(), controlplane.Namespace
	if _, err := c.CoreV1().ServiceAccounts(own).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: own, Name: name}}
	var err error
	for _, role := range roles {
		meta := metav1.ObjectMeta{Name: name + "-" + role.Name}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: meta.Name}
		if role.Kind == "Role" {
			if _, err = c.RbacV1().Roles(own).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{}); err == nil {
				_, err = c.RbacV1().RoleBindings(own).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
			}
		} else if _, err = c.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{}); err == nil {
			_, err = c.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	user := "system:serviceaccount:" + own + ":" + name
	for _, role := range roles {
		rule := role.Rules[0]
		proof := authorizationv1.ResourceAttributes{Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0], Namespace: role.Namespace}
		if len(rule.ResourceNames) > 0 {
			proof.Name = rule.ResourceNames[0]
		}
		c.until(t, "the API server knows "+role.Name, func() bool { return c.allowed(t, user, proof) })
	}
	token, err := c.CoreV1().ServiceAccounts(own).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.plane.Config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config
}
