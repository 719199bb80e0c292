package network_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network"
)

// A tally counts the requests to the API server, separately for watches and
// Events.
type tally struct {
	next  http.RoundTripper
	in    string // a namespace, or "" for all
	mutex sync.Mutex
	calls map[string]int
}

func (c *tally) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") == "" && !strings.Contains(r.URL.Path, "/events") && strings.Contains(r.URL.Path+"/", "/namespaces/"+c.in) {
		c.mutex.Lock()
		c.calls[r.Method]++
		c.mutex.Unlock()
	}
	return c.next.RoundTrip(r)
}

// take returns the counts since its last call.
func (c *tally) take() (all int, text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, n := range c.calls {
		all += n
	}
	text = fmt.Sprint(c.calls)
	clear(c.calls)
	return all, text
}

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// many is how many Networks exist at once.
var many = 50

// TestManyNetworksAtOnce creates, changes and deletes many, each phase at once,
// and reports the load on the API server.
func TestManyNetworksAtOnce(t *testing.T) {
	c := newCluster(t)
	calls := &tally{calls: map[string]int{}}
	asked := &counting{namespace: c.namespace}
	c.control(t, setting{
		options:   func(o *network.Options) { asked.Backend, o.Backend = o.Backend, asked },
		transport: func(next http.RoundTripper) http.RoundTripper { calls.next = next; return calls },
	})

	networks := make([]*samplecrdv1.Network, many)
	each := func(do func(i int) error) {
		t.Helper()
		var g errgroup.Group
		g.SetLimit(20)
		for i := range many {
			g.Go(func() error { return do(i) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	settled := func(what string, most float64, done func(i int, n *samplecrdv1.Network) bool, definitions int) {
		t.Helper()
		poll(t, what, func() bool {
			var list samplecrdv1.NetworkList
			if err := c.List(t.Context(), &list, client.InNamespace(c.namespace)); err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				var number int
				if _, err := fmt.Sscanf(list.Items[i].Name, "net-%d", &number); err != nil {
					t.Fatal(err)
				}
				if done == nil || !done(number, &list.Items[i]) {
					return false
				}
			}
			return done == nil || len(list.Items) == many
		})
		if got := len(c.definitions(t)); got != definitions {
			t.Errorf("%s: %d definitions, want %d", what, got, definitions)
		}
		all, text := calls.take()
		t.Logf("%s: %.2f calls of the API server a Network %s, %.2f of the backend to ensure it", what, float64(all)/float64(many), text, float64(asked.ensured.Swap(0))/float64(many))
		if each := float64(all) / float64(many); each > most {
			t.Errorf("%s: %.2f calls a Network, want %.0f at most", what, each, most)
		}
	}
	cidr := func(i int) string { return fmt.Sprintf("10.%d.%d.0/24", 100+i/100, i%100) }
	host := func(i, n int) string { return fmt.Sprintf("10.%d.%d.%d", 100+i/100, i%100, n) }

	each(func(i int) error {
		networks[i] = &samplecrdv1.Network{Spec: samplecrdv1.NetworkSpec{CIDR: cidr(i), Gateway: host(i, 1)}}
		networks[i].Namespace, networks[i].Name = c.namespace, fmt.Sprintf("net-%d", i)
		return c.Create(t.Context(), networks[i])
	})
	settled("created", 4, func(i int, n *samplecrdv1.Network) bool { return made(cidr(i), host(i, 1))(n) }, many)
	each(func(i int) error {
		return c.Patch(t.Context(), networks[i], client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"gateway":%q}}`, host(i, 254))))
	})
	settled("changed", 3, func(i int, n *samplecrdv1.Network) bool { return made(cidr(i), host(i, 254))(n) }, many)
	each(func(i int) error { return c.Delete(t.Context(), networks[i]) })
	settled("deleted", 4, nil, 0)
}
