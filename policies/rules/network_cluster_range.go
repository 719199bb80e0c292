package rules

import (
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/network/subnet"
	"github.com/usher-dev/usher/policies"
)

// NetworkClusterRange is the id of the rule network-cluster-range, whose
// findings depend on the cluster and not on the Network alone.
const NetworkClusterRange = "network-cluster-range"

// network-cluster-range: a Network's range has addresses that the cluster uses
// for its Services, pods or nodes.
//
// Only a cluster knows its ranges: the ServiceCIDRs (before Kubernetes 1.33 the
// ClusterIPs of Services), the pod ranges and internal addresses of nodes, and
// what the configuration lists. On files the rule knows only the latter.
func init() {
	register(policies.Rule{
		ID:      NetworkClusterRange,
		Level:   finding.Invariant,
		Since:   release.V(0, 2),
		Kinds:   []string{"Network"},
		Summary: "A Network's range belongs to the cluster's Services, pods or nodes",
		Harm:    "attached pods reach the Network instead of the Services, pods or nodes with these addresses",
		Fix:     "write a private range that neither the cluster nor its nodes use, such as `cidr: 192.168.0.0/16`, and a gateway of that range, such as `gateway: 192.168.0.1`",
		Check: on(func(p *policies.Pass, n *samplecrdv1.Network) {
			prefix, err := subnet.ParseCIDR(n.Spec.CIDR)
			if err != nil {
				return // network-cidr reports it
			}
			found := subnet.Colliding(prefix, clusterRanges(p))
			if len(found) == 0 {
				return
			}
			p.Report(field.NewPath("spec", "cidr"), n.Spec.CIDR, "cidr is "+quoted(n.Spec.CIDR)+", which has addresses in common with "+enumerated(found)+": write a range that the cluster does not use")
			gateway, err := subnet.ParseGateway(prefix, n.Spec.Gateway)
			if err != nil || !gateway.IsValid() {
				return // network-gateway reports it
			}
			for _, r := range found {
				if r.Services && r.Prefix.Contains(gateway) {
					p.Report(field.NewPath("spec", "gateway"), n.Spec.Gateway, "gateway is "+quoted(n.Spec.Gateway)+", an address of "+r.Of+": write an address of a range that the cluster does not use")
					return
				}
			}
		}),
	})
}

// clusterRanges returns the ranges that the cluster uses, as far as they are
// visible.
func clusterRanges(p *policies.Pass) []subnet.ClusterRange {
	var all []subnet.ClusterRange
	add := func(text, of string, services bool) {
		prefix, err := netip.ParsePrefix(text)
		if addr, errAddr := netip.ParseAddr(text); errAddr == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err == nil { // not "" or None, which headless Services have
			all = append(all, subnet.ClusterRange{Prefix: prefix.Masked(), Of: of, Services: services})
		}
	}
	for _, cidr := range p.ClusterCIDRs {
		add(cidr, "which usher's configuration lists (networks.clusterCIDRs)", false)
	}
	ranges, _ := p.ListEverywhere("ServiceCIDR")
	for _, o := range ranges {
		if p.Ended() {
			break
		}
		if s, ok := o.Typed.(*networkingv1.ServiceCIDR); ok {
			for _, cidr := range s.Spec.CIDRs {
				add(cidr, "the Services (ServiceCIDR "+s.Name+")", true)
			}
		}
	}
	if len(ranges) == 0 { // an older cluster
		services, _ := p.ListEverywhere("Service")
		for _, o := range services {
			if p.Ended() {
				break
			}
			if s, ok := o.Typed.(*corev1.Service); ok {
				for _, ip := range s.Spec.ClusterIPs {
					add(ip, "the Service "+s.Namespace+"/"+s.Name, true)
				}
			}
		}
	}
	nodes, _ := p.ListEverywhere("Node")
	for _, o := range nodes {
		if p.Ended() {
			break
		}
		if n, ok := o.Typed.(*corev1.Node); ok {
			for _, cidr := range n.Spec.PodCIDRs {
				add(cidr, "the pods of node "+n.Name, false)
			}
			for _, address := range n.Status.Addresses {
				if address.Type == corev1.NodeInternalIP {
					add(address.Address, "the node "+n.Name, false)
				}
			}
		}
	}
	return all
}

// enumerated names the first few ranges, and the number of others.
func enumerated(ranges []subnet.ClusterRange) string {
	const most = 3
	var names []string
	for _, r := range ranges[:min(len(ranges), most)] {
		names = append(names, r.String())
	}
	text := strings.Join(names, "; ")
	if more := len(ranges) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
