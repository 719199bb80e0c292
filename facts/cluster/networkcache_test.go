package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestPodsOfManyNetworksAreAdmittedByTheCache limits the requests to the API
// server for a pod with the maximum number of Networks.
func TestPodsOfManyNetworksAreAdmittedByTheCache(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	names := make([]string, 32)
	for i := range names {
		names[i] = fmt.Sprintf("net-%d", i)
		c.Network(t, ns, names[i], network.MultusBackend, metav1.ConditionTrue)
	}
	direct := c.NetworkClient(t)
	informers, err := cache.New(c.Plane.Config, cache.Options{Scheme: direct.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = informers.Start(ctx) }()
	reader := &counting{Reader: direct}
	networks := &facts.Networks{Reader: reader, Related: &facts.RelatedCache{}}
	networks.Follow(ctx, informers, webhooktest.Logger())
	var found map[string]network.State
	c.Until(t, "the cache holds the Networks", func() (ok bool) {
		found, ok = networks.Cached(t.Context(), ns, names, []byte("{}"))
		return ok
	})
	if len(found) != len(names) || found["net-7"] != (network.State{Backend: network.MultusBackend}) {
		t.Errorf("found %v", found)
	}
	if reader.asked > 0 {
		t.Errorf("the cache asked the API server %d times", reader.asked)
	}
	missing := slices.Concat(names[:31], []string{"missing"})
	if _, ok := networks.Cached(t.Context(), ns, missing, []byte("{}")); ok {
		t.Error("the cache answers about a Network that does not exist")
	}
	found, err = networks.Fresh(t.Context(), ns, missing, []byte("{}"))
	if _, exists := found["missing"]; err != nil || exists || len(found) != 31 {
		t.Errorf("found %v: %v", found, err)
	}
	if reader.asked != 1 {
		t.Errorf("the API server was asked %d times, want one list", reader.asked)
	}
}
