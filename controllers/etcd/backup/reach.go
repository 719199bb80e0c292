package backup

import (
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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errForeign says that an address belongs to nothing in the EtcdBackup's namespace.
var errForeign = errors.New("it is not the address of a pod or Service of the namespace")

// A Reach decides which etcds an EtcdBackup may read. The controller connects from
// its own place in the network, past the NetworkPolicies of the tenant who wrote the
// EtcdBackup, so it connects only to that tenant's pods and Services.
type Reach struct {
	// Reader asks the API server.
	Reader client.Reader
	// Allowed are the hosts outside of the namespace that every EtcdBackup may
	// name: HOST, *.DOMAIN or either with :PORT.
	Allowed []string
}

// A dialer connects to an address, host:port.
type dialer func(ctx context.Context, address string) (net.Conn, error)

// dialer returns how an EtcdBackup of the namespace connects to its endpoints. The
// address is checked when the connection is made, after its name was resolved: a name
// may lead anywhere, and elsewhere the next time.
func (r *Reach) dialer(namespace string) dialer {
	return func(ctx context.Context, address string) (net.Conn, error) {
		d := &net.Dialer{}
		if !r.allows(address) {
			d.ControlContext = func(ctx context.Context, _, resolved string, _ syscall.RawConn) error {
				return r.own(ctx, namespace, resolved)
			}
		}
		return d.DialContext(ctx, "tcp", address)
	}
}

// allows says whether the address, host:port, is one that every EtcdBackup may name.
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

// own returns nil if the address, IP:port, is that of a pod or Service of the
// namespace. A pod of the host's network has the address of its node, where etcd may
// be the control plane's; a Service without a selector leads where its Endpoints say.
func (r *Reach) own(ctx context.Context, namespace, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", address, err)
	}
	ip := at.Addr().Unmap().WithZone("")
	var services corev1.ServiceList
	if err := r.Reader.List(ctx, &services, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("reading the Services of the namespace: %w", err)
	}
	for i := range services.Items {
		s := &services.Items[i].Spec
		if len(s.Selector) > 0 && slices.ContainsFunc(s.ClusterIPs, same(ip)) {
			return nil
		}
	}
	found, err := r.podHas(ctx, namespace, ip)
	if found || err != nil {
		return err
	}
	return fmt.Errorf("%s: %w %s; endpoints of other namespaces and outside of the cluster need --etcd-backup-endpoints of usher's controller", address, errForeign, namespace)
}

// podHas says whether the IP is one of a pod's own. It reads the pods in pages, since
// a namespace may have thousands.
func (r *Reach) podHas(ctx context.Context, namespace string, ip netip.Addr) (bool, error) {
	const page = 250
	for next := ""; ; {
		var pods corev1.PodList
		if err := r.Reader.List(ctx, &pods, client.InNamespace(namespace), client.Limit(page), client.Continue(next)); err != nil {
			return false, fmt.Errorf("reading the pods of the namespace: %w", err)
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if !p.Spec.HostNetwork && (same(ip)(p.Status.PodIP) || slices.ContainsFunc(p.Status.PodIPs, func(is corev1.PodIP) bool { return same(ip)(is.IP) })) {
				return true, nil
			}
		}
		if next = pods.Continue; next == "" {
			return false, nil
		}
	}
}

// same says whether a text is that IP.
func same(ip netip.Addr) func(string) bool {
	return func(text string) bool {
		is, err := netip.ParseAddr(text)
		return err == nil && is.Unmap() == ip
	}
}

// checkEndpoints says why endpoints are not URLs of etcd's clients. Those of sockets
// are refused: the controller's own files are not a tenant's.
func checkEndpoints(endpoints []string) error {
	if len(endpoints) == 0 {
		return fault(ReasonInvalid, "etcdEndpoints is empty: write the URLs of the cluster's members, or of its Service")
	}
	for _, endpoint := range endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return fault(ReasonInvalid, "etcdEndpoints holds what is not a URL: write http:// or https://, a host and a port")
		}
	}
	return nil
}
