package reach

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// connectWithin is how long a store may take to accept a connection.
const connectWithin = 10 * time.Second

// Stores decides which object stores the controller may use for an object:
// those at public addresses, those that are pods and Services of the object's
// namespace, and those that the administrator lists. The zero value lists none.
type Stores struct {
	// Reader reads from the API server.
	Reader client.Reader
	// Allowed are the destinations that every object may use.
	Allowed []Destination
	// APIServers are the hosts by which this process knows the API server.
	APIServers []string
	// Proxy returns the proxy of a request; nil uses none. The controller does not
	// see to which address a proxy connects, so it only sends requests to hosts in
	// Allowed through one.
	Proxy func(*http.Request) (*url.URL, error)
}

// A Route is how one attempt for an object reaches its store. Several
// connections may use it at a time.
type Route struct {
	stores    *Stores
	namespace string

	mu sync.Mutex
	// pinned are the addresses of a Grace.
	pinned sets.Set[netip.Addr]
	graced Grace
	used   Use
	// proxies are the addresses of proxies in use, host:port.
	proxies sets.Set[string]
	own     *Own
	servers sets.Set[netip.Addr]
	read    time.Time
}

// fresh is how long a Route uses what it read of the cluster. Later, another
// pod may have the address.
const fresh = 10 * time.Second

// Route returns the route for one attempt of an object in the namespace.
func (s *Stores) Route(namespace string, g Grace) *Route {
	r := &Route{stores: s, namespace: namespace, graced: g, pinned: sets.New[netip.Addr](), proxies: sets.New[string]()}
	for _, text := range g.Addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			r.pinned.Insert(a)
		}
	}
	return r
}

// Dial connects to an address, host:port. The error is a Refused or an
// Unchecked if the controller did not try.
func (r *Route) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: connectWithin, ControlContext: func(ctx context.Context, _, resolved string, _ syscall.RawConn) error {
		return r.judge(ctx, address, resolved)
	}}
	return d.DialContext(ctx, network, address)
}

// Proxy returns the proxy for a request, or nil. It is for http.Transport.
func (r *Route) Proxy(request *http.Request) (*url.URL, error) {
	if r.stores.Proxy == nil {
		return nil, nil
	}
	proxy, err := r.stores.Proxy(request)
	if err != nil || proxy == nil {
		return nil, err
	}
	host, port := hostPort(request.URL)
	if !r.stores.lists(host, port) {
		return nil, &Refused{Host: net.JoinHostPort(host, strconv.Itoa(int(port))), Leads: "a proxy"}
	}
	proxyHost, proxyPort := hostPort(proxy)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proxies.Insert(net.JoinHostPort(proxyHost, strconv.Itoa(int(proxyPort))))
	r.used.Listed = true
	return proxy, nil
}

// hostPort returns the host and the port of a URL.
func hostPort(u *url.URL) (host string, port uint16) {
	n, _ := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]), 10, 16)
	return u.Hostname(), uint16(n)
}

// lists reports whether the administrator lists the host, as the object names
// it, with the port.
func (s *Stores) lists(host string, port uint16) bool {
	at, err := netip.ParseAddr(host)
	for _, d := range s.Allowed {
		if d.names(host, port) || err == nil && d.contains(netip.AddrPortFrom(at, port)) {
			return true
		}
	}
	return false
}

// judge returns nil if the controller may connect to the resolved address,
// IP:port, of a host.
func (r *Route) judge(ctx context.Context, host, resolved string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proxies.Has(host) {
		return nil
	}
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return &Refused{Host: host, Resolved: resolved, Leads: "something that is not an address"}
	}
	name, _, _ := net.SplitHostPort(host)
	if r.stores.lists(name, at.Port()) || r.stores.lists(plain(at.Addr()).String(), at.Port()) {
		r.used.Listed = true
		return nil
	}
	refused := &Refused{Host: host, Resolved: resolved}
	to, err := r.leads(ctx, at.Addr())
	if err != nil {
		return &Unchecked{err}
	}
	switch {
	case to.what == "":
		r.used.Allowed = true
		return nil
	case to.mayHold && r.grace(ctx, name, append(to.behind, plain(at.Addr()))):
		return nil
	}
	refused.Leads = to.what
	r.used.Refused = refused
	return refused
}

// A lead is to what an address leads that a store must not have.
type lead struct {
	// what completes the sentence "it leads to …"; "" if a store may have the
	// address.
	what string
	// mayHold is true if the store of an earlier release may have it.
	mayHold bool
	// behind are the addresses to which a Service of the namespace leads.
	behind []netip.Addr
}

// leads returns to what an address leads.
func (r *Route) leads(ctx context.Context, a netip.Addr) (lead, error) {
	if err := r.refresh(ctx); err != nil {
		return lead{}, err
	}
	if r.isAPIServer(a) {
		return lead{what: "the API server"}, nil
	}
	a = plain(a)
	is := spanOf(a)
	if is == nil {
		h, err := holderOf(ctx, r.stores.Reader, r.namespace, a)
		switch {
		case err != nil:
			return lead{}, err
		case !h.found:
			return lead{}, nil
		case h.foreign:
			return lead{what: "a pod, Service or node of the cluster", mayHold: true}, nil
		}
		is = &span{name: "a pod or Service of the cluster", mayHold: true}
	}
	if r.own == nil {
		own, err := ReadOwn(ctx, r.stores.Reader, r.namespace)
		if err != nil {
			return lead{}, err
		}
		r.own = own
	}
	if r.own.pods.Has(a) {
		return lead{}, nil
	}
	s, ok := r.own.services[a]
	if !ok {
		return lead{what: is.name, mayHold: is.mayHold}, nil
	}
	behind, err := r.own.behind(ctx, r.stores.Reader, r.namespace, s.name)
	switch {
	case err != nil:
		return lead{}, err
	case !s.selects:
		return lead{what: "a Service without a selector", mayHold: true, behind: behind}, nil
	case len(behind) > 0:
		return lead{what: "a Service whose EndpointSlices have addresses that are not those of pods of the namespace", mayHold: true, behind: behind}, nil
	}
	return lead{}, nil
}

// isAPIServer reports whether an address is one of the API server.
func (r *Route) isAPIServer(a netip.Addr) bool {
	return slices.ContainsFunc(readings(a), r.servers.Has)
}

// refresh forgets what the route read of the cluster some time ago, and reads
// the addresses of the API server.
func (r *Route) refresh(ctx context.Context) error {
	if r.servers != nil && time.Since(r.read) < fresh {
		return nil
	}
	servers, err := readAPIServers(ctx, r.stores.Reader, r.stores.APIServers)
	if err != nil {
		return err
	}
	r.own, r.servers, r.read = nil, servers, time.Now()
	return nil
}
