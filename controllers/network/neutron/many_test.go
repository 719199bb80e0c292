//go:build neutron

package neutron_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers"
)

var atOnce = flag.Int("networks", 200, "how many Networks there are at once; Neutron takes about half a second for each")

// TestManyNetworksAtOnce creates, changes and deletes many, each phase at once,
// and reports the load on Neutron.
func TestManyNetworksAtOnce(t *testing.T) {
	many := *atOnce
	e := newTenant(t)
	c, w := newCluster(t, e), e.world(t)
	c.control(t, func(o *controllers.NetworkOptions) { o.Resync = 0 })

	all := make([]*samplecrdv1.Network, many)
	// 10.0.0.0/24 belongs to the Services of the test API server.
	cidr := func(i int) string { return fmt.Sprintf("10.%d.%d.0/24", 1+i/100, i%100) }
	gateway := func(i, host int) string { return fmt.Sprintf("10.%d.%d.%d", 1+i/100, i%100, host) }
	phase := func(what string, most float64, there int, do func(i int) error, done func(n *samplecrdv1.Network) bool) {
		t.Helper()
		start := time.Now()
		var g errgroup.Group
		g.SetLimit(20)
		for i := range many {
			g.Go(func() error { return do(i) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		// Neutron handles one request at a time.
		err := wait.PollUntilContextTimeout(t.Context(), time.Second, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
			var list samplecrdv1.NetworkList
			if err := c.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
				return false, err
			}
			left := slices.ContainsFunc(list.Items, func(n samplecrdv1.Network) bool { return !done(&n) })
			return !left && len(list.Items) == there, nil
		})
		if err != nil {
			t.Fatalf("waiting until all are %s: %v", what, err)
		}
		calls := e.proxy.Calls()
		each := float64(len(calls)) / float64(many)
		t.Logf("%s: %.2f calls of Neutron a Network (%s), %s for %d", what, each, counted(calls), time.Since(start).Round(time.Second), many)
		if each > most {
			t.Errorf("%s: %.2f calls of Neutron a Network, want %.1f at most", what, each, most)
		}
		if got := len(w.all(t, "")); got != there {
			t.Errorf("%s: Neutron has %d networks, want %d", what, got, there)
		}
	}

	phase("created", 4.5, many, func(i int) error {
		all[i] = &samplecrdv1.Network{Spec: samplecrdv1.NetworkSpec{CIDR: cidr(i), Gateway: gateway(i, 1)}}
		all[i].Namespace, all[i].Name = c.namespace, fmt.Sprintf("net-%d", i)
		return c.Create(t.Context(), all[i])
	}, asTheSpecSays)
	phase("changed", 4.5, many, func(i int) error {
		return c.Patch(t.Context(), all[i], client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"gateway":%q}}`, gateway(i, 254))))
	}, asTheSpecSays)
	phase("deleted", 4.5, 0, func(i int) error { return c.Delete(t.Context(), all[i]) }, func(*samplecrdv1.Network) bool { return false })
}

// asTheSpecSays reports whether the network matches a normalised spec.
func asTheSpecSays(n *samplecrdv1.Network) bool { return made(n.Spec.CIDR, n.Spec.Gateway)(n) }

// counted formats the number of calls of each kind.
func counted(calls []string) string {
	count := map[string]int{}
	for _, call := range calls {
		count[call]++
	}
	var parts []string
	for _, call := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s %d", call, count[call]))
	}
	return strings.Join(parts, ", ")
}
