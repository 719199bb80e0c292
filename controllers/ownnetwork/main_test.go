package ownnetwork_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/controllers/ownnetwork"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

// cluster is a real API server with the controllers of Deployments, and usher's
// webhook.
type cluster struct {
	client.Client
	plane *controlplane.ControlPlane
}

var shared *cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	failed := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	log.SetLogger(logr.Discard())
	plane, err := controlplane.Start(os.Stderr, "../../deploy/base/crds/samplecrd.k8s.io_networks.yaml")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = plane.Stop() }()
	stop, _, err := plane.StartControllerManager("deployment-controller,replicaset-controller,garbage-collector-controller,serviceaccount-controller")
	if err != nil {
		return failed(err)
	}
	defer stop()
	scheme := runtime.NewScheme()
	if err := ownnetwork.AddToScheme(scheme); err != nil {
		return failed(err)
	}
	own := rest.CopyConfig(plane.Config)
	own.QPS = -1
	c, err := client.New(own, client.Options{Scheme: scheme})
	if err != nil {
		return failed(err)
	}
	usher, err := usherwebhook.Start(context.Background(), plane, logr.Discard())
	if err != nil {
		return failed(err)
	}
	defer func() { _ = usher.Stop() }()
	shared = &cluster{c, plane}
	return m.Run()
}

// controller runs one controller process until it is stopped; without the
// Lease, so that two can run at once.
func (c *cluster) controller(t *testing.T) (stop func()) {
	t.Helper()
	running, err := ushercontroller.Start(context.WithoutCancel(t.Context()), c.plane, logr.Discard(), func(o *controllers.Options) {
		o.Controllers, o.LeaderElection = []string{"ownnetwork"}, false
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// pool sets usher's pool, or none if cidr is "".
func (c *cluster) pool(t *testing.T, cidr string, length int) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.Namespace, Name: config.ConfigMapName}}
	if err := client.IgnoreNotFound(c.Delete(t.Context(), cm.DeepCopy())); err != nil {
		t.Fatal(err)
	}
	if cidr == "" {
		return
	}
	cm.Data = map[string]string{config.ConfigMapKey: fmt.Sprintf("{apiVersion: %s, kind: %s, networks: {pool: {cidr: %q, prefixLength: %d}}}", config.APIVersion, config.Kind, cidr, length)}
	if err := c.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
}

// namespace creates a namespace whose Deployments are deleted when the test
// ends.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// deploy creates a Deployment that asks for its own Network.
func (c *cluster) deploy(t *testing.T, namespace, name string) *appsv1.Deployment {
	t.Helper()
	app := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{wellknown.OwnNetwork: "true"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}},
		},
	}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func until(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		ok, err := condition(ctx)
		last = err
		return ok, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v (%v)", what, err, last)
	}
}

// condition waits for the condition OwnNetwork with a reason and a text in its
// message.
func (c *cluster) condition(t *testing.T, of *appsv1.Deployment, reason, text string) {
	t.Helper()
	until(t, fmt.Sprintf("the condition %s of %s is %s", network.OwnCondition, of.Name, reason), func(ctx context.Context) (bool, error) {
		d := &appsv1.Deployment{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(of), d); err != nil {
			return false, err
		}
		for _, is := range d.Status.Conditions {
			if is.Type == network.OwnCondition && is.Reason == reason && strings.Contains(is.Message, text) {
				return true, nil
			}
		}
		return false, fmt.Errorf("it has %+v", d.Status.Conditions)
	})
}

// refused waits until a pod of a Deployment was refused with a text. The
// ReplicaSet's condition keeps the message of the first refusal; its Events
// have all of them.
func (c *cluster) refused(t *testing.T, of *appsv1.Deployment, text string) {
	t.Helper()
	until(t, "a pod of "+of.Name+" is refused: "+text, func(ctx context.Context) (bool, error) {
		var events corev1.EventList
		if err := c.List(ctx, &events, client.InNamespace(of.Namespace)); err != nil {
			return false, err
		}
		var told []string
		for _, e := range events.Items {
			if e.Reason == "FailedCreate" && strings.HasPrefix(e.InvolvedObject.Name, of.Name+"-") {
				told = append(told, e.Message)
			}
		}
		return slices.ContainsFunc(told, func(message string) bool { return strings.Contains(message, text) }), fmt.Errorf("told: %q", told)
	})
}

// network waits for a Deployment's Network.
func (c *cluster) network(t *testing.T, of *appsv1.Deployment) *samplecrdv1.Network {
	t.Helper()
	n := &samplecrdv1.Network{}
	until(t, "there is the Network of "+of.Name, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(of), n)
		return err == nil, err
	})
	return n
}

// claims returns the allocated ranges, with their holders.
func (c *cluster) claims(ctx context.Context) (map[netip.Prefix]string, error) {
	var list coordinationv1.LeaseList
	if err := c.List(ctx, &list, client.InNamespace(controlplane.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "own-network"}); err != nil {
		return nil, err
	}
	claims := map[netip.Prefix]string{}
	for _, l := range list.Items {
		prefix, err := netip.ParsePrefix(l.Annotations["samplecrd.k8s.io/cidr"])
		if err != nil {
			return nil, err
		}
		claims[prefix] = *l.Spec.HolderIdentity
	}
	return claims, nil
}

// clear deletes the Deployments of a namespace and waits until all of their
// objects are gone.
func (c *cluster) clear(t *testing.T, namespaces ...string) {
	t.Helper()
	for _, namespace := range namespaces {
		if err := c.DeleteAllOf(t.Context(), &appsv1.Deployment{}, client.InNamespace(namespace), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "every range is free", func(ctx context.Context) (bool, error) {
		claims, err := c.claims(ctx)
		return err == nil && len(claims) == 0, fmt.Errorf("given out: %v, %w", claims, err)
	})
}
