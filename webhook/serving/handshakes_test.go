package serving

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

func TestHandshakesOfAnAddressWaitForTheirTurn(t *testing.T) {
	metrics := NewMetrics(prometheus.NewRegistry()).of("webhook")
	one, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	const never = rate.Limit(0)
	h := newHandshakes(never, 2, metrics)
	for h.turns[h.slot(one)] == h.turns[h.slot(other)] { // one of 256 pairs shares a turn
		other = other.Next()
	}
	for i, want := range []bool{true, true, false} {
		if err := h.turn(t.Context(), one); (err == nil) != want {
			t.Errorf("handshake %d of an address that gets two: %v", i, err)
		}
	}
	if err := h.turn(t.Context(), other); err != nil {
		t.Errorf("another address waits, too: %v", err)
	}
	const soon = rate.Limit(1000)
	h = newHandshakes(soon, 1, metrics)
	for i := range 5 {
		if err := h.turn(t.Context(), one); err != nil {
			t.Errorf("handshake %d of an address that gets a thousand in a second: %v", i, err)
		}
	}
	const inSeconds = rate.Limit(0.5)
	h = newHandshakes(inSeconds, 1, metrics)
	closed, end := context.WithCancel(t.Context())
	end()
	for i, want := range []bool{true, false} {
		if err := h.turn(closed, one); (err == nil) != want {
			t.Errorf("handshake %d of a closed connection: %v", i, err)
		}
	}
}

func TestAddressesOfClients(t *testing.T) {
	for client, want := range map[string]string{
		"10.0.0.1:1234":           "10.0.0.1",
		"[::ffff:10.0.0.1]:1234":  "10.0.0.1",
		"[2001:db8:1:2:3::4]:443": "2001:db8:1:2::",
		"[2001:db8:1:2::]:1":      "2001:db8:1:2::",
		"[fe80::1%lo]:1":          "fe80::",
		"@":                       "invalid IP",
	} {
		if got := addressOf(named(client)).String(); got != want {
			t.Errorf("%s: %s, want %s", client, got, want)
		}
	}
}

// named is an address that has only a text.
type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) }

var _ net.Addr = named("")
