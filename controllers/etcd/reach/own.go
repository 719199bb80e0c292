package reach

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Own are the addresses of the pods and Services in a namespace, without pods on
// the host network: these have the address of their node, where the control
// plane may run.
type Own struct {
	pods     sets.Set[netip.Addr]
	services map[netip.Addr]service
}

// A service is a Service with an address in the cluster. Without a selector it
// leads wherever its Endpoints point.
type service struct {
	name    string
	selects bool
}

// Has reports whether a pod or a Service with a selector has the address.
func (o *Own) Has(a netip.Addr) bool {
	a = plain(a)
	return o.services[a].selects || o.pods.Has(a)
}

// ReadOwn reads the addresses of a namespace. It reads in pages, since a
// namespace may have thousands, and keeps only the addresses.
func ReadOwn(ctx context.Context, reader client.Reader, namespace string) (*Own, error) {
	own := &Own{pods: sets.New[netip.Addr](), services: map[netip.Addr]service{}}
	var services corev1.ServiceList
	err := pages(ctx, reader, &services, func() {
		for i := range services.Items {
			s := &services.Items[i]
			for _, ip := range s.Spec.ClusterIPs {
				if a, err := netip.ParseAddr(ip); err == nil { // not "" or None
					own.services[plain(a)] = service{s.Name, len(s.Spec.Selector) > 0}
				}
			}
		}
	}, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("reading the Services of the namespace: %w", err)
	}
	var pods corev1.PodList
	err = pages(ctx, reader, &pods, func() {
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Spec.HostNetwork || over(p) {
				continue
			}
			for _, is := range append([]corev1.PodIP{{IP: p.Status.PodIP}}, p.Status.PodIPs...) {
				if a, err := netip.ParseAddr(is.IP); err == nil {
					own.pods.Insert(plain(a))
				}
			}
		}
	}, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("reading the pods of the namespace: %w", err)
	}
	return own, nil
}

// over reports whether a pod has ended: another pod may have its address.
func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// behind returns the addresses to which a Service leads and that are not those
// of pods of the namespace: a user may write EndpointSlices, and a Service may
// select pods on the host network.
func (o *Own) behind(ctx context.Context, reader client.Reader, namespace, service string) ([]netip.Addr, error) {
	var out []netip.Addr
	err := endpoints(ctx, reader, namespace, service, func(a netip.Addr) {
		if !o.pods.Has(a) {
			out = append(out, a)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the EndpointSlices of the Service %s: %w", service, err)
	}
	return out, nil
}

// endpoints calls read for each address in a Service's EndpointSlices. An
// endpoint that is a name leads anywhere: it is the zero address.
func endpoints(ctx context.Context, reader client.Reader, namespace, service string, read func(netip.Addr)) error {
	var slices discoveryv1.EndpointSliceList
	return pages(ctx, reader, &slices, func() {
		for i := range slices.Items {
			for _, e := range slices.Items[i].Endpoints {
				for _, text := range e.Addresses {
					a, err := netip.ParseAddr(text)
					if err != nil {
						a = netip.Addr{}
					}
					read(plain(a))
				}
			}
		}
	}, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})
}

// pages calls read for each page of a list.
func pages(ctx context.Context, reader client.Reader, list client.ObjectList, read func(), options ...client.ListOption) error {
	const size = 250
	for next := ""; ; {
		if err := reader.List(ctx, list, append(options, client.Limit(size), client.Continue(next))...); err != nil {
			return err
		}
		read()
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}
