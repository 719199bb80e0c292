//go:build neutron

package neutron_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/controllers/network/neutron"
)

// A cluster is a namespace of the control plane, whose Networks are created in
// a project.
type cluster struct {
	client.Client
	tenant    *tenant
	namespace string
}

func newCluster(t *testing.T, e *tenant) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, samplecrdv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(plane.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	if err := plane.Account(t.Context(), ns.Name); err != nil {
		t.Fatal(err)
	}
	return &cluster{c, e, ns.Name}
}

// control runs the controllers' process until the test ends, or stop is called.
func (c *cluster) control(t *testing.T, changes ...func(*controllers.NetworkOptions)) (stop func()) {
	t.Helper()
	o := controllers.Options{
		Namespace: "default", Controllers: []string{"network"}, HealthAddress: "0", MetricsAddress: "0", Log: logr.Discard(), Repeated: true,
		Network: controllers.NetworkOptions{Backend: neutron.Name, CloudsFile: c.tenant.file, Cloud: "here", Resync: time.Second},
	}
	for _, change := range changes {
		change(&o.Network)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- controllers.Run(ctx, plane.Config, o) }()
	stop = func() {
		cancel()
		err := <-done
		done <- nil
		if err != nil {
			t.Errorf("the controller ended: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// network creates a Network like a user.
func (c *cluster) network(t *testing.T, name, cidr, gateway string) *samplecrdv1.Network {
	t.Helper()
	n := &samplecrdv1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec:       samplecrdv1.NetworkSpec{CIDR: cidr, Gateway: gateway},
	}
	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return n
}

// edit changes a Network's spec.
func (c *cluster) edit(t *testing.T, n *samplecrdv1.Network, cidr, gateway string) {
	t.Helper()
	patch := client.MergeFrom(n.DeepCopy())
	n.Spec.CIDR, n.Spec.Gateway = cidr, gateway
	if err := c.Patch(t.Context(), n, patch); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) remove(t *testing.T, n *samplecrdv1.Network) {
	t.Helper()
	if err := c.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// poll waits until a condition is true.
func poll(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// until waits until the Network meets a condition.
func (c *cluster) until(t *testing.T, n *samplecrdv1.Network, what string, condition func(*samplecrdv1.Network) bool) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the status is %+v", n.Status)
		}
	}()
	poll(t, what, func() bool { return c.Get(t.Context(), client.ObjectKeyFromObject(n), n) == nil && condition(n) })
}

// gone reports whether the Network does not exist.
func (c *cluster) gone(t *testing.T, n *samplecrdv1.Network) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(n), n.DeepCopy())
	return err != nil && client.IgnoreNotFound(err) == nil
}

// made reports whether the network matches the current spec.
func made(cidr, gateway string) func(*samplecrdv1.Network) bool {
	return func(n *samplecrdv1.Network) bool {
		c := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == n.Generation &&
			n.Status.CIDR == cidr && n.Status.Gateway == gateway && n.Status.Backend == neutron.Name
	}
}

// because reports whether it does not, for a reason.
func because(reason backend.Reason) func(*samplecrdv1.Network) bool {
	return func(n *samplecrdv1.Network) bool {
		c := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == string(reason) && c.ObservedGeneration == n.Generation
	}
}
