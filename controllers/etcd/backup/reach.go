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

// dialer returns the dialer for an EtcdBackup in the namespace. It checks the
// address when it connects, after resolving the name: a name may lead anywhere,
// and elsewhere the next time.
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

// own returns nil if the address, IP:port, is that of a pod or Service in the
// namespace. A pod on the host network has the address of its node, where the
// control plane's etcd may run; a Service without a selector leads wherever its
// Endpoints point.
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
	return fmt.Errorf("%s: %w %s; for endpoints in other namespaces and outside the cluster, set --etcd-backup-endpoints of usher's controller", address, errForeign, namespace)
}

// podHas reports whether the IP is that of a pod. It reads the pods in pages,
// since a namespace may have thousands.
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

// same reports whether a text is that IP.
func same(ip netip.Addr) func(string) bool {
	return func(text string) bool {
		is, err := netip.ParseAddr(text)
		return err == nil && is.Unmap() == ip
	}
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
