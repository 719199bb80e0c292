package serving

import (
	"context"
	"crypto/tls"
	"fmt"
	"hash/maphash"
	"net"
	"net/netip"

	"golang.org/x/time/rate"
)

// The handshakes that an address gets at once, and then in each second. An API
// server keeps its connections, and sends its requests over those that are idle
// while it waits for another.
const (
	handshakesAtOnce    = 50
	handshakesPerSecond = 200
)

// handshakes makes the TLS handshakes of an address wait for their turn. A
// handshake costs as much processor time as a decision, so a client that opens
// a thousand connections at once would delay the API server's calls.
type handshakes struct {
	metrics connectionMetrics
	seed    maphash.Seed
	// turns are the limiters. The hash of an address chooses one, which bounds
	// their memory; few addresses share one.
	turns [256]*rate.Limiter
}

func newHandshakes(perSecond rate.Limit, atOnce int, metrics connectionMetrics) *handshakes {
	h := &handshakes{metrics: metrics, seed: maphash.MakeSeed()}
	for i := range h.turns {
		h.turns[i] = rate.NewLimiter(perSecond, atOnce)
	}
	return h
}

// wait is tls.Config.GetConfigForClient.
func (h *handshakes) wait(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	err := h.turn(hello.Context(), addressOf(hello.Conn.RemoteAddr()))
	if err != nil {
		h.metrics.closed.Inc()
	}
	return nil, err
}

// turn waits for the turn of an address. It fails at once if the turn would come
// after the time that a handshake may take, and when the connection is closed.
func (h *handshakes) turn(ctx context.Context, address netip.Addr) error {
	turn := h.turns[h.slot(address)]
	if turn.Allow() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, headerTimeout)
	defer cancel()
	if err := turn.Wait(ctx); err != nil {
		return fmt.Errorf("too many new connections from %s: %w", address, err)
	}
	return nil
}

func (h *handshakes) slot(address netip.Addr) uint64 {
	return maphash.Comparable(h.seed, address) % uint64(len(h.turns))
}

// addressOf returns a client's address without the port; of IPv6, the network of
// 64 bits, because one client can use all its addresses.
func addressOf(client net.Addr) netip.Addr {
	parsed, err := netip.ParseAddrPort(client.String())
	if err != nil {
		return netip.Addr{} // such clients are treated as one
	}
	address := parsed.Addr().Unmap().WithZone("")
	if address.Is6() {
		network, _ := address.Prefix(64)
		return network.Addr()
	}
	return address
}
