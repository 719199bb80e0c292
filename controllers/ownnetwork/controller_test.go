package ownnetwork_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/network/multus"
)

func TestADeploymentGetsItsNetworkAndItsPodsWaitForIt(t *testing.T) {
	c, namespace := shared, shared.namespace(t)
	c.pool(t, "10.128.0.0/22", 24)
	d := c.deploy(t, namespace, "web")
	// Without a controller, the ReplicaSet retries and gets the reason.
	c.refused(t, d, `network-creating: metadata.annotations[samplecrd.k8s.io/network]: names the Network "web", which is the Deployment's own, and usher is creating it`)

	defer c.controller(t)()
	n := c.network(t, d)
	owner := metav1.GetControllerOf(n)
	if n.Spec.CIDR != "10.128.0.0/24" || n.Spec.Gateway != "10.128.0.1" || owner == nil || owner.UID != d.UID {
		t.Errorf("the Network is %+v, owned by %+v", n.Spec, owner)
	}
	c.condition(t, d, network.OwnMade, "10.128.0.0/24")
	until(t, "its pod is there, attached", func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		return len(pods.Items) == 1 && pods.Items[0].Annotations[multus.Annotation] == namespace+"/web", fmt.Errorf("pods: %d", len(pods.Items))
	})
	now := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), now); err != nil || now.Generation != 1 {
		t.Errorf("the Deployment was edited: generation %d, %v", now.Generation, err)
	}

	c.clear(t, namespace)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), &samplecrdv1.Network{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Network is left: %v", err)
	}
}

// each is how many Deployments in a namespace ask at once.
var each = 10

func TestNoTwoRangesAreAlikeThoughTwoControllersWorkAtOnce(t *testing.T) {
	c := shared
	c.pool(t, "10.64.0.0/18", 26)
	namespaces := []string{c.namespace(t), c.namespace(t)}
	byHand := &samplecrdv1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[0], Name: "by-hand"}, Spec: samplecrdv1.NetworkSpec{CIDR: "10.64.1.0/24"},
	}
	if err := c.Create(t.Context(), byHand); err != nil {
		t.Fatal(err)
	}
	var wanted []*appsv1.Deployment
	for i := range each {
		for _, namespace := range namespaces {
			wanted = append(wanted, c.deploy(t, namespace, fmt.Sprintf("web-%d", i)))
		}
	}
	var stops [2]func()
	var starting sync.WaitGroup
	for i := range stops {
		starting.Go(func() { stops[i] = c.controller(t) })
	}
	starting.Wait()
	given := map[netip.Prefix]string{netip.MustParsePrefix(byHand.Spec.CIDR): byHand.Name}
	for _, d := range wanted {
		n := c.network(t, d)
		prefix := netip.MustParsePrefix(n.Spec.CIDR)
		for other, name := range given {
			if prefix.Overlaps(other) {
				t.Errorf("%s has %s, and %s has %s", d.Name, prefix, name, other)
			}
		}
		given[prefix] = d.Name
	}
	until(t, "one range is given out for each", func(ctx context.Context) (bool, error) {
		claims, err := c.claims(ctx)
		return len(claims) == len(wanted), fmt.Errorf("given out: %d, %w", len(claims), err)
	})
	stops[0]()
	c.clear(t, namespaces...)
	stops[1]()
}

func TestAnExhaustedPoolIsToldAndWaitedFor(t *testing.T) {
	c, namespace := shared, shared.namespace(t)
	c.pool(t, "10.32.0.0/29", 30)
	stop := c.controller(t)
	first, second := c.deploy(t, namespace, "first"), c.deploy(t, namespace, "second")
	c.network(t, first)
	c.network(t, second)
	third := c.deploy(t, namespace, "third")
	c.condition(t, third, network.OwnPool, "10.32.0.0/29 in parts of /30")
	// Its pods may have been denied before the reason was known; later ones get
	// it.
	if err := c.Patch(t.Context(), third, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))); err != nil {
		t.Fatal(err)
	}
	c.refused(t, third, `network-pool: metadata.annotations[samplecrd.k8s.io/network]: names the Network "third", which cannot be created: the pool 10.32.0.0/29`)
	if err := c.Delete(t.Context(), first, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	if n := c.network(t, third); n.Spec.CIDR != "10.32.0.0/30" && n.Spec.CIDR != "10.32.0.4/30" {
		t.Errorf("it has %s", n.Spec.CIDR)
	}
	c.condition(t, third, network.OwnMade, "")
	c.clear(t, namespace)
	stop()
}

func TestARangeIsFreedThoughTheControllerWasDown(t *testing.T) {
	c, namespace := shared, shared.namespace(t)
	c.pool(t, "10.16.0.0/24", 24)
	stop := c.controller(t)
	d := c.deploy(t, namespace, "web")
	c.network(t, d)
	stop()
	if err := c.Delete(t.Context(), d, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	until(t, "its Network is gone", func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(d), &samplecrdv1.Network{})
		return apierrors.IsNotFound(err), err
	})
	if claims, err := c.claims(t.Context()); err != nil || len(claims) != 1 {
		t.Fatalf("given out: %v, %v", claims, err)
	}
	defer c.controller(t)()
	c.clear(t)
}

func TestForeignObject_IsLeftUnchanged(t *testing.T) {
	c, namespace := shared, shared.namespace(t)
	c.pool(t, "10.8.0.0/24", 24)
	d := c.deploy(t, namespace, "web")
	theirs := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: samplecrdv1.NetworkSpec{CIDR: "10.200.0.0/24"}}
	if err := c.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	stop := c.controller(t)
	c.condition(t, d, network.OwnForeign, "was not created for this Deployment")
	c.refused(t, d, `network-foreign: metadata.annotations[samplecrd.k8s.io/network]: names the Network "web", which was not created for the Deployment`)
	n := c.network(t, d)
	if n.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("it was changed: %+v", n)
	}
	if err := c.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	c.condition(t, d, network.OwnMade, "10.8.0.0/24")
	c.clear(t, namespace)
	stop()
}

func TestWithoutAPoolNoNetworkIsMade(t *testing.T) {
	c, namespace := shared, shared.namespace(t)
	c.pool(t, "", 0)
	stop := c.controller(t)
	d := c.deploy(t, namespace, "web")
	c.condition(t, d, network.OwnNoPool, "networks.pool")
	c.pool(t, "10.4.0.0/24", 24)
	c.network(t, d)

	// It no longer asks: the Network stays until it is removed, and is not
	// recreated.
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, wellknown.OwnNetwork)
	if err := c.Patch(t.Context(), d, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	until(t, "the condition is gone", func(ctx context.Context) (bool, error) {
		now := &appsv1.Deployment{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(d), now); err != nil {
			return false, err
		}
		for _, is := range now.Status.Conditions {
			if is.Type == network.OwnCondition {
				return false, nil
			}
		}
		return true, nil
	})
	if err := c.Delete(t.Context(), &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	c.clear(t)
	stop()
}
