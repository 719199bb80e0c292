package reach

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The Service of the API server.
const (
	apiServerNamespace = "default"
	apiServerService   = "kubernetes"
)

// readAPIServers reads the addresses of the API server: the hosts by which this
// process knows it, and the EndpointSlices of its Service.
func readAPIServers(ctx context.Context, reader client.Reader, hosts []string) (sets.Set[netip.Addr], error) {
	found := sets.New[netip.Addr]()
	for _, host := range hosts {
		all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("resolving the API server's host: %w", err)
		}
		for _, a := range all {
			found.Insert(plain(a))
		}
	}
	err := endpoints(ctx, reader, apiServerNamespace, apiServerService, func(a netip.Addr) { found.Insert(a) })
	if err != nil {
		return nil, fmt.Errorf("reading the EndpointSlices of the API server: %w", err)
	}
	return found, nil
}

// A holder describes the pods and Services of the cluster that have a public
// address.
type holder struct {
	// found is true if a pod or a Service has it, foreign if it belongs to another
	// namespace or to a node.
	found, foreign bool
}

// holderOf looks for a public address among the pods and Services of the
// cluster: in some clusters, these have public addresses. It finds the first
// address of each.
func holderOf(ctx context.Context, reader client.Reader, namespace string, a netip.Addr) (holder, error) {
	var h holder
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.clusterIP", a.String())}); err != nil {
		return h, fmt.Errorf("looking for the Service that has the address: %w", err)
	}
	for i := range services.Items {
		h.found, h.foreign = true, h.foreign || services.Items[i].Namespace != namespace
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("status.podIP", a.String())}); err != nil {
		return h, fmt.Errorf("looking for the pod that has the address: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; !over(p) {
			h.found, h.foreign = true, h.foreign || p.Namespace != namespace || p.Spec.HostNetwork
		}
	}
	return h, nil
}
