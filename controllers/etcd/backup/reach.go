package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultPort is etcd's port for clients.
const defaultPort = "2379"

// errForeign means that an address does not belong to the EtcdBackup's
// namespace.
var errForeign = errors.New("it is not the address of a pod or Service in the namespace")

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
	var own sets.Set[netip.Addr]
	if slices.ContainsFunc(endpoints, func(endpoint string) bool { return !r.allows(hostPort(endpoint)) }) {
		var err error
		if own, err = r.addresses(ctx, namespace); err != nil {
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

// addresses returns those of the pods and Services in the namespace. A pod on
// the host network has the address of its node, where the control plane's etcd
// may run; a Service without a selector leads wherever its Endpoints point. It
// reads in pages, since a namespace may have thousands, and keeps only the
// addresses.
func (r *Reach) addresses(ctx context.Context, namespace string) (sets.Set[netip.Addr], error) {
	own := sets.New[netip.Addr]()
	add := func(text string) {
		if ip, err := netip.ParseAddr(text); err == nil { // not "" or None
			own.Insert(ip.Unmap())
		}
	}
	var services corev1.ServiceList
	err := r.pages(ctx, namespace, &services, func() {
		for i := range services.Items {
			if s := &services.Items[i].Spec; len(s.Selector) > 0 {
				for _, ip := range s.ClusterIPs {
					add(ip)
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the Services of the namespace: %w", err)
	}
	var pods corev1.PodList
	err = r.pages(ctx, namespace, &pods, func() {
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Spec.HostNetwork {
				continue
			}
			add(p.Status.PodIP)
			for _, is := range p.Status.PodIPs {
				add(is.IP)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the pods of the namespace: %w", err)
	}
	return own, nil
}

// pages calls read for each page of a list.
func (r *Reach) pages(ctx context.Context, namespace string, list client.ObjectList, read func()) error {
	const size = 250
	for next := ""; ; {
		if err := r.Reader.List(ctx, list, client.InNamespace(namespace), client.Limit(size), client.Continue(next)); err != nil {
			return err
		}
		read()
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

// belongs returns nil if the address, IP:port, is one of the namespace's.
func belongs(own sets.Set[netip.Addr], namespace, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", address, err)
	}
	if own.Has(at.Addr().Unmap().WithZone("")) {
		return nil
	}
	return fmt.Errorf("%s: %w %s; for endpoints in other namespaces and outside the cluster, set --etcd-backup-endpoints of usher's controller", address, errForeign, namespace)
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
