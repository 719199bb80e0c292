package network_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/usher-dev/usher/controllers/network"
)

// TestNetworksThatArePolled_RequestNothing polls like a backend without watches,
// such as Neutron.
func TestNetworksThatArePolled_RequestNothing(t *testing.T) {
	const networks, passes = 10, 20
	c := newCluster(t)
	b, calls := &counting{namespace: c.namespace}, &tally{in: c.namespace + "/", calls: map[string]int{}}
	c.control(t, setting{
		options:   func(o *network.Options) { b.Backend, o.Backend, o.Resync = o.Backend, b, 50*time.Millisecond },
		transport: func(next http.RoundTripper) http.RoundTripper { calls.next = next; return calls },
	})
	for i := range networks {
		cidr := fmt.Sprintf("10.40.%d.0/24", i)
		n := c.network(t, fmt.Sprint("net-", i), cidr, "")
		c.until(t, n, "it is made", made(cidr, ""))
	}
	// Other tests' Networks are in other namespaces. Until the watches have shown what
	// the controller created, it may try again.
	for attempt := 0; ; attempt++ {
		calls.take()
		looked := b.ensured.Load()
		poll(t, "every Network was looked at many times", func() bool { return b.ensured.Load() >= looked+networks*passes })
		n, text := calls.take()
		if n == 0 {
			return
		}
		if attempt == 5 {
			t.Fatalf("requests to the API server in %d passes over unchanged Networks: %s", networks*passes, text)
		}
	}
}
