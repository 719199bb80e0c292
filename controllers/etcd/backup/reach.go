package backup

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// defaultPort is etcd's port for clients.
const defaultPort = "2379"

// A foreignError means that an address does not belong to the EtcdBackup's
// namespace.
type foreignError struct{ namespace string }

// Error implements error.
func (e *foreignError) Error() string {
	return "it is not the address of a pod or Service in the namespace " + e.namespace + "; for endpoints in other namespaces and outside the cluster, set --etcd-backup-endpoints of usher's controller"
}

// A Reach decides which etcd clusters an EtcdBackup may read. The controller
// connects from its own pod, regardless of the NetworkPolicies for the tenant
// who wrote the EtcdBackup, so it only connects to that tenant's pods and
// Services.
type Reach struct {
	// Reader reads from the API server.
	Reader client.Reader
	// Allowed are the hosts outside of the namespace that every EtcdBackup may
	// use: HOST, *.DOMAIN or either with :PORT.
	Allowed []string
}

// A dialer connects to an address, host:port.
type dialer func(ctx context.Context, address string) (net.Conn, error)

// dialer returns the dialer for one attempt of an EtcdBackup in the namespace.
// It checks the address when it connects, after resolving the name: a name may
// lead anywhere, and elsewhere the next time. It reads the addresses of the
// namespace once, and only if an endpoint is not allowed anyway. If it cannot
// read them, that is a fault of usher: neither a permission nor a refusal.
func (r *Reach) dialer(ctx context.Context, namespace string, endpoints []string) (dialer, error) {
	var own *reach.Own
	if slices.ContainsFunc(endpoints, func(endpoint string) bool { return !r.allows(hostPort(endpoint)) }) {
		var err error
		if own, err = reach.ReadOwn(ctx, r.Reader, namespace); err != nil {
			return nil, fault(ReasonUnchecked, "usher could not check to whom the endpoints belong, and did not connect to them: %w", err)
		}
	}
	return func(ctx context.Context, address string) (net.Conn, error) {
		d := &net.Dialer{}
		if !r.allows(address) {
			d.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
				return belongs(own, namespace, resolved)
			}
		}
		return d.DialContext(ctx, "tcp", address)
	}, nil
}

// hostPort returns the address of an endpoint, "" if it is not a URL.
func hostPort(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPort))
}

// allows reports whether every EtcdBackup may use the address, host:port.
func (r *Reach) allows(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(r.Allowed, func(pattern string) bool {
		wanted := pattern
		if h, p, err := net.SplitHostPort(pattern); err == nil {
			if p != port {
				return false
			}
			wanted = h
		}
		wanted = strings.ToLower(strings.Trim(wanted, "[]"))
		if domain, ok := strings.CutPrefix(wanted, "*"); ok && strings.HasPrefix(domain, ".") {
			return strings.HasSuffix(host, domain)
		}
		return host == wanted
	})
}

// belongs returns nil if the address, IP:port, is one of the namespace's.
func belongs(own *reach.Own, namespace, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", address, err)
	}
	if own.Has(at.Addr()) {
		return nil
	}
	return &foreignError{namespace}
}

// checkEndpoints returns an error if an endpoint is not a URL of etcd's client
// API. It rejects sockets: a tenant must not use the controller's own files.
func checkEndpoints(endpoints []string) error {
	if len(endpoints) == 0 {
		return fault(ReasonInvalid, "etcdEndpoints is empty: write the URLs of the cluster's members, or of its Service")
	}
	for _, endpoint := range endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return fault(ReasonInvalid, "etcdEndpoints contains an invalid URL: write http:// or https://, a host and a port")
		}
	}
	return nil
}
