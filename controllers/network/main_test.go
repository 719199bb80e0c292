package network_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	netattdefv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/controllers/network/multus"
	"github.com/usher-dev/usher/test/controlplane"
)

const (
	ownDefinitions    = "../../deploy/base/crds"
	multusDefinitions = "multus/testdata"
)

// plane is a real API server with usher's custom resources and those of Multus.
var plane *controlplane.ControlPlane

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	var err error
	if plane, err = controlplane.Start(os.Stderr, ownDefinitions, multusDefinitions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = plane.Stop() }()
	return m.Run()
}

// A cluster is the control plane with an administrator's rights.
type cluster struct {
	client.WithWatch
	plane     *controlplane.ControlPlane
	namespace string
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, network.AddToScheme, multus.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// newCluster returns the shared control plane with a namespace for the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	return clusterOn(t, plane)
}

func clusterOn(t *testing.T, plane *controlplane.ControlPlane) *cluster {
	t.Helper()
	config := rest.CopyConfig(plane.Config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: newScheme(t)})
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
	return &cluster{c, plane, ns.Name}
}

// A setting changes how a controller runs.
type setting struct {
	options   func(*network.Options)
	transport func(http.RoundTripper) http.RoundTripper
}

// control runs the controller with the backend of Multus until the test ends,
// or stop is called.
func (c *cluster) control(t *testing.T, s setting) (stop func()) {
	t.Helper()
	skip := true
	restConfig := rest.CopyConfig(c.plane.Config)
	restConfig.QPS = -1
	if s.transport != nil {
		restConfig.Wrap(s.transport)
	}
	m, err := manager.New(restConfig, manager.Options{
		Scheme: newScheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := multus.New(m, multus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := network.Options{Backend: b, Watch: b.Watch, RetryAfter: 50 * time.Millisecond, Workers: 4}
	if s.options != nil {
		s.options(&o)
	}
	controller, err := network.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.SetupWithManager(m); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, errCut) {
			t.Error(err)
		}
		done <- nil // for a second call of stop
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

// pod creates a pod that names networks.
func (c *cluster) pod(t *testing.T, name, networks string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Annotations: map[string]string{netattdefv1.NetworkAttachmentAnnot: networks}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func (c *cluster) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := c.Delete(t.Context(), o, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

// definitions returns the ranges and gateways of the definitions in the
// namespace.
func (c *cluster) definitions(t *testing.T) (found []netattdefv1.NetworkAttachmentDefinition) {
	t.Helper()
	var list netattdefv1.NetworkAttachmentDefinitionList
	if err := c.List(t.Context(), &list, client.InNamespace(c.namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// until waits until the Network meets a condition.
func (c *cluster) until(t *testing.T, n *samplecrdv1.Network, what string, condition func(*samplecrdv1.Network) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(n), n); err != nil {
			return false, err
		}
		return condition(n), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v; it is %+v", what, err, n.Status)
	}
}

// gone waits until the Network does not exist.
func (c *cluster) gone(t *testing.T, n *samplecrdv1.Network) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(n), n.DeepCopy())
		return client.IgnoreNotFound(err) == nil && err != nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("waiting until Network %s is gone: %v", n.Name, err)
	}
}

// made reports whether the network matches the current spec.
func made(cidr, gateway string) func(*samplecrdv1.Network) bool {
	return func(n *samplecrdv1.Network) bool {
		c := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == n.Generation &&
			n.Status.CIDR == cidr && n.Status.Gateway == gateway && n.Status.Backend == multus.Name
	}
}

// because reports whether it does not, for a reason.
func because(reason backend.Reason) func(*samplecrdv1.Network) bool {
	return func(n *samplecrdv1.Network) bool {
		c := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == string(reason) && c.ObservedGeneration == n.Generation
	}
}

// events returns the reasons of the Events about a Network.
func (c *cluster) events(t *testing.T, n *samplecrdv1.Network) map[string]int {
	t.Helper()
	var list eventsv1.EventList
	if err := c.List(t.Context(), &list, client.InNamespace(c.namespace)); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, e := range list.Items {
		if e.Regarding.UID == n.UID {
			found[e.Reason]++
		}
	}
	return found
}
