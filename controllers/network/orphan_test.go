package network_test

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// A gone backend no longer answers deletions.
type gone struct{ backend.Backend }

func (gone) Delete(context.Context, backend.Owner) error {
	return backend.Errorf(backend.Unavailable, "calling the backend: no such host")
}

// TestANetworkWithoutItsBackend_IsDeletedOnceItMayBeOrphaned deletes a Network
// whose backend is gone for good.
func TestANetworkWithoutItsBackend_IsDeletedOnceItMayBeOrphaned(t *testing.T) {
	c := newCluster(t)
	c.control(t, setting{options: func(o *network.Options) { o.Backend = gone{o.Backend} }})
	n := c.network(t, "net", "10.80.0.0/24", "")
	c.until(t, n, "it is made", made("10.80.0.0/24", ""))
	c.remove(t, n)
	c.until(t, n, "the deletion fails", because(backend.Unavailable))
	if !strings.Contains(message(n), "set spec.deletionPolicy to Orphan") {
		t.Errorf("the message %q names no way out", message(n))
	}
	patch := client.MergeFrom(n.DeepCopy())
	n.Spec.DeletionPolicy = samplecrdv1.Orphan
	if err := c.Patch(t.Context(), n, patch); err != nil {
		t.Fatal(err)
	}
	c.gone(t, n)
	if d := c.definitions(t); len(d) != 1 {
		t.Errorf("the backend has %d networks, want the orphaned one", len(d))
	}
	poll(t, "the orphan is announced", func() bool { return c.events(t, n)[network.ReasonOrphaned] == 1 })
}
