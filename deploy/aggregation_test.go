package deploy_test

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// TestRolesOfNamespacesCoverCustomResources gives users Kubernetes' own roles in
// a namespace, once its controller has aggregated them.
func TestRolesOfNamespacesCoverCustomResources(t *testing.T) {
	c := started(t)
	stop, _, err := c.plane.StartControllerManager("clusterrole-aggregation-controller")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ns := c.newNamespace(t, nil)
	for _, role := range []string{"view", "edit", "admin"} {
		c.kubectl(t, "create", "rolebinding", role, "-n", ns, "--clusterrole="+role, "--user="+role)
		c.until(t, "the role "+role+" is aggregated", func() bool {
			out, err := c.plane.ReadKubectl(t.Context(), "get", "clusterrole", role, "-o", "yaml")
			return err == nil && strings.Contains(out, "- etcdrestores\n") && strings.Contains(out, "- networks\n")
		})
	}
	resources := map[string]string{"etcdclusters": "etcd.database.coreos.com", "etcdbackups": "etcd.database.coreos.com", "etcdrestores": "etcd.database.coreos.com", "networks": "samplecrd.k8s.io"}
	may := func(user, namespace, verb, group, resource string) bool {
		t.Helper()
		resource, subresource, _ := strings.Cut(resource, "/")
		return c.allowed(t, user, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace})
	}
	for resource, group := range resources {
		for _, role := range []string{"view", "edit", "admin"} {
			for _, verb := range []string{"get", "list", "watch"} {
				c.until(t, role+" may "+verb+" "+resource, func() bool { return may(role, ns, verb, group, resource) })
			}
			for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
				if role == "view" {
					if may(role, ns, verb, group, resource) {
						t.Errorf("a viewer may %s %s", verb, resource)
					}
					continue
				}
				c.until(t, role+" may "+verb+" "+resource, func() bool { return may(role, ns, verb, group, resource) })
			}
			if may(role, "default", "get", group, resource) {
				t.Errorf("with the role %s in %s a user reads %s of another namespace", role, ns, resource)
			}
			if may(role, ns, "patch", group, resource+"/status") {
				t.Errorf("with the role %s a user may write the status of %s", role, resource)
			}
		}
	}
	// What the API server does, and not only what it says.
	as := func(user, manifest string) error {
		_, err := c.plane.Kubectl(t.Context(), "---\n"+manifest, "create", "-n", ns, "-f", "-", "--as="+user)
		return err
	}
	const cluster = `{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: store}, spec: {size: 1, version: 3.6.16}}`
	for _, manifest := range []string{network("net", "10.93.0.0/24", "10.93.0.1"), cluster} {
		if err := as("view", manifest); err == nil {
			t.Errorf("a viewer creates %s", manifest)
		}
		if err := as("admin", manifest); err != nil {
			t.Errorf("an admin of the namespace does not create %s: %v", manifest, err)
		}
	}
	if out := c.kubectl(t, "get", "networks.samplecrd.k8s.io,etcdclusters", "-n", ns, "-o", "name", "--as=view"); strings.Count(out, "\n") != 2 {
		t.Errorf("a viewer sees %q, want both objects", out)
	}
	c.kubectl(t, "delete", "networks.samplecrd.k8s.io,etcdclusters", "--all", "-n", ns)
}
