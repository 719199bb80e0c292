package deploy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/test/controlplane"
)

// unseenOfController are rights of the controller that its features need not
// use in this test.
var unseenOfController = []string{
	// Checked when a RoleBinding is created, without a request.
	"bind clusterroles named view",
	// Informers list if the server cannot stream the existing objects.
	"list namespaces",
	"list rolebindings",
	"list networks",
	"list network-attachment-definitions",
	"list pods",
	"list deployments",
	"list leases in usher-system",
	// Another controller took a range while its Network was created.
	"delete networks",
	// An Event that repeats.
	"patch events",
	"patch events in usher-system",
}

// otherControllers have roles that are ignored here: without etcd, and without
// pods that lack a template, most of them are unused.
var otherControllers = []string{"usher-controller-etcdbackup", "usher-controller-etcdcluster", "usher-controller-etcdrestore", "usher-controller-healing", "usher-controller-refusals"}

// TestTheControllerHasTheRightsItUsesAndNoOthers is the equivalent of
// TestTheWebhookHasTheRightsItUsesAndNoOthers for the controller.
func TestTheControllerHasTheRightsItUsesAndNoOthers(t *testing.T) {
	c := started(t)
	for _, f := range controllerFeatures {
		if f.before != nil {
			f.before(t, c)
		}
	}
	c.control(t)
	for _, f := range controllerFeatures {
		t.Run(f.name, func(t *testing.T) { f.run(t, c) })
	}
	compareRights(t, c.audited(t, controlplane.ControllerUser), grants(t, "usher-controller", otherControllers...), unseenOfController, nil)
}

// control runs every controller as its ServiceAccount until the test ends.
func (c *cluster) control(t *testing.T) {
	t.Helper()
	config, err := c.plane.AsController(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- controllers.Run(ctx, config, controllers.Options{
			Namespace: controlplane.Namespace, LeaderElection: true, HealthAddress: "0", MetricsAddress: "0", Log: logr.Discard(), Repeated: true,
			Controllers: []string{"serviceaccount", "ownnetwork", "network"},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A controllerFeature is a feature of a controller, and its preconditions.
type controllerFeature struct {
	name   string
	before func(*testing.T, *cluster)
	run    func(*testing.T, *cluster)
}

var controllerFeatures = []controllerFeature{
	{"the default ServiceAccount of a labelled namespace may view it", nil, func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, map[string]string{"usher.dev/default-serviceaccount": "view"})
		c.untilThere(t, ns, "rolebinding", viewBinding, "default")
		c.kubectl(t, "patch", "rolebinding", viewBinding, "-n", ns, "--type=merge", "-p", `{"subjects":[]}`)
		c.untilThere(t, ns, "rolebinding", viewBinding, "default")
		c.views(t, ns)
		c.kubectl(t, "label", "namespace", ns, "usher.dev/default-serviceaccount-")
		c.untilGone(t, ns, "rolebinding", viewBinding)
	}},
	{"a RoleBinding to another role is recreated", nil, func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, nil)
		c.apply(t, ns, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: `+viewBinding+`, labels: {app.kubernetes.io/managed-by: usher,
app.kubernetes.io/component: default-serviceaccount}}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}}`)
		c.kubectl(t, "label", "namespace", ns, "usher.dev/default-serviceaccount=view")
		c.untilThere(t, ns, "rolebinding", viewBinding, "name: view")
	}},
	{"another's RoleBinding of the name is left as it is", nil, func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, nil)
		c.apply(t, ns, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: `+viewBinding+`}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}}`)
		c.kubectl(t, "label", "namespace", ns, "usher.dev/default-serviceaccount=view")
		c.untilEvent(t, ns, "DefaultServiceAccountBindingForeign")
	}},
	{"a Network is made, changed, replaced and deleted", nil, func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, nil)
		for _, n := range []struct{ cidr, gateway string }{{"10.98.0.0/24", "10.98.0.1"}, {"10.98.0.0/24", "10.98.0.254"}, {"10.97.0.0/24", "10.97.0.1"}} {
			c.apply(t, ns, network("net", n.cidr, n.gateway))
			c.untilThere(t, ns, "network-attachment-definition", "net", `"subnet":"`+n.cidr+`","gateway":"`+n.gateway+`"`)
		}
		c.kubectl(t, "delete", "networks.samplecrd.k8s.io", "net", "-n", ns)
		c.untilGone(t, ns, "network-attachment-definition", "net")
	}},
	{"another's NetworkAttachmentDefinition is left as it is", nil, func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, nil)
		c.apply(t, ns, `{apiVersion: k8s.cni.cncf.io/v1, kind: NetworkAttachmentDefinition, metadata: {name: net}, spec: {config: "{}"}}`)
		c.apply(t, ns, network("net", "10.96.0.0/24", "10.96.0.1"))
		c.untilThere(t, ns, "networks.samplecrd.k8s.io", "net", "reason: Foreign")
	}},
	{"networks without an object are found at the start", func(t *testing.T, c *cluster) {
		c.apply(t, c.newNamespace(t, nil), `{apiVersion: k8s.cni.cncf.io/v1, kind: NetworkAttachmentDefinition, metadata: {name: orphan, labels: {app.kubernetes.io/managed-by: usher,
app.kubernetes.io/component: network}}, spec: {config: "{}"}}`)
	}, func(t *testing.T, c *cluster) {
		c.until(t, "the API server was asked for its Network", func() bool {
			for _, e := range c.audited(t, controlplane.ControllerUser) {
				if e.Verb == "get" && e.ObjectRef.Resource == "networks" && e.ObjectRef.Name == "orphan" {
					return true
				}
			}
			return false
		})
	}},
	{"a Deployment's own Network is made, and its range freed", nil, func(t *testing.T, c *cluster) {
		c.apply(t, controlplane.Namespace, `{apiVersion: v1, kind: ConfigMap, metadata: {name: usher}, data: {config.yaml: "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration,
networks: {pool: {cidr: 10.95.0.0/16, prefixLength: 24}}}"}}`)
		defer c.kubectl(t, "delete", "configmap", "usher", "-n", controlplane.Namespace)
		ns := c.newNamespace(t, nil)
		c.apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: own, annotations: {samplecrd.k8s.io/own-network: "true"}},
spec: {selector: {matchLabels: {app: own}}, template: {metadata: {labels: {app: own}}, spec: {containers: [{name: app, image: app}]}}}}`)
		c.untilThere(t, ns, "deployment", "own", "type: OwnNetwork")
		c.untilThere(t, ns, "networks.samplecrd.k8s.io", "own", "cidr: 10.95.0.0/24")
		// In a cluster the garbage collector deletes it with its owner.
		c.kubectl(t, "delete", "deployment/own", "networks.samplecrd.k8s.io/own", "-n", ns)
		c.untilGone(t, controlplane.Namespace, "lease", "network-10.95.0.0-24")
	}},
}

// views waits until the default ServiceAccount, with a token, may read pods but
// not Secrets, according to the API server.
func (c *cluster) views(t *testing.T, namespace string) {
	t.Helper()
	// The ClusterRole view is aggregated from other roles.
	stop, _, err := c.plane.StartControllerManager("clusterrole-aggregation-controller")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	c.until(t, "the role view is gathered", func() bool {
		out, err := c.plane.ReadKubectl(t.Context(), "get", "clusterrole", "view", "-o", "yaml")
		return err == nil && strings.Contains(out, "- pods\n")
	})
	user := "system:serviceaccount:" + namespace + ":default"
	for resource, want := range map[string]bool{"pods": true, "secrets": false} {
		review, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: resource, Namespace: namespace},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != want {
			t.Errorf("%s may list %s: %t, want %t", user, resource, review.Status.Allowed, want)
		}
	}
	token, err := c.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.plane.Config)
	config.BearerToken = token.Status.Token
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("by its token it cannot list pods: %v", err)
	}
	if _, err := clients.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("by its token it lists Secrets: %v, want a refusal", err)
	}
	if _, err := clients.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("by its token it lists pods of another namespace: %v, want a refusal", err)
	}
}

const viewBinding = "usher-default-serviceaccount-view"

// kubectl runs kubectl, which must succeed.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.plane.Kubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// untilThere waits until an object exists and has some content.
func (c *cluster) untilThere(t *testing.T, namespace, resource, name, says string) {
	t.Helper()
	c.until(t, resource+" "+name+" says "+says, func() bool {
		out, err := c.plane.ReadKubectl(t.Context(), "get", resource, name, "-n", namespace, "-o", "yaml")
		return err == nil && strings.Contains(out, says)
	})
}

func (c *cluster) untilGone(t *testing.T, namespace, resource, name string) {
	t.Helper()
	c.until(t, resource+" "+name+" is gone", func() bool {
		out, err := c.plane.Kubectl(t.Context(), "", "get", resource, name, "-n", namespace)
		return err != nil && strings.Contains(out, "NotFound")
	})
}

// untilEvent waits until an Event is written about the namespace.
func (c *cluster) untilEvent(t *testing.T, namespace, reason string) {
	t.Helper()
	c.until(t, "the Event "+reason, func() bool {
		out, err := c.plane.Kubectl(t.Context(), "", "get", "events", "-A", "-o", "wide")
		return err == nil && strings.Contains(out, reason) && strings.Contains(out, namespace)
	})
}
