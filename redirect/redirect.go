// Package redirect sends a pod's TCP traffic to the proxy in the pod, with
// nftables rules in the pod's network namespace.
//
// The pure part converts a Config to a Ruleset, which is data and renders as
// the text that nft would print. Apply, Load and Remove exchange it with the
// kernel.
//
// The rules, and their reasons:
//
//   - Only packets that open a connection are redirected. A connection that was
//     already open keeps its destination.
//   - Only TCP is redirected; DNS over UDP is not.
//   - Inbound, only packets to the pod itself are redirected: a pod that forwards
//     packets, for containers or a virtual machine inside, continues to do so.
//   - Outbound, packets within the pod are not redirected: connections to
//     localhost, and those from the proxy to the application.
//   - The proxy's own packets, recognized by uid or gid, are not redirected, or
//     they would loop back to the proxy.
package redirect

import (
	"fmt"
	"net/netip"
)

// A Config describes what to redirect, and what to exclude.
type Config struct {
	// InboundPort is the proxy's port for connections to the pod; 0 does not
	// redirect them.
	InboundPort uint16
	// OutboundPort is the proxy's port for connections out of the pod; 0 does not
	// redirect them.
	OutboundPort uint16
	// ProxyUIDs and ProxyGIDs are the users and groups of the proxy's connections.
	ProxyUIDs, ProxyGIDs []uint32
	// IncludeInbound, if not empty, are the only inbound ports to redirect.
	IncludeInbound []PortRange
	// ExcludeInbound and ExcludeOutbound are destination ports that are not
	// redirected.
	ExcludeInbound, ExcludeOutbound []PortRange
	// ExcludeDestinations are outbound destinations that are not redirected.
	ExcludeDestinations []netip.Prefix
}

// A PortRange is the ports from First to Last, inclusive.
type PortRange struct {
	First, Last uint16
}

func (r PortRange) contains(port uint16) bool {
	return r.First <= port && port <= r.Last
}

func (r PortRange) text() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Plan returns the rules for the configuration.
func Plan(c Config) Ruleset {
	var rules Ruleset
	if c.InboundPort != 0 {
		rules.Chains = append(rules.Chains, Chain{Name: "inbound", Hook: Prerouting, Rules: inbound(c)})
	}
	if c.OutboundPort != 0 {
		rules.Chains = append(rules.Chains, Chain{Name: "outbound", Hook: Output, Rules: outbound(c)})
	}
	return rules
}

func inbound(c Config) []Rule {
	rules := []Rule{
		{Match: NotOpening{}, Comment: "opened before these rules"},
		{Match: NotLocal{}, Comment: "forwarded by this pod"},
	}
	for _, ports := range c.ExcludeInbound {
		rules = append(rules, Rule{Match: ports, Comment: "excluded inbound port"})
	}
	for _, ports := range c.IncludeInbound {
		rules = append(rules, Rule{Match: ports, RedirectTo: c.InboundPort, Comment: "inbound port, to the proxy"})
	}
	if len(c.IncludeInbound) == 0 {
		rules = append(rules, Rule{Match: TCP{}, RedirectTo: c.InboundPort, Comment: "inbound, to the proxy"})
	}
	return rules
}

func outbound(c Config) []Rule {
	rules := []Rule{
		{Match: NotOpening{}, Comment: "opened before these rules"},
		{Match: Loopback{}, Comment: "stays in the pod"},
	}
	for _, uid := range c.ProxyUIDs {
		rules = append(rules, Rule{Match: UID(uid), Comment: "from the proxy itself"})
	}
	for _, gid := range c.ProxyGIDs {
		rules = append(rules, Rule{Match: GID(gid), Comment: "from the proxy itself"})
	}
	for _, ports := range c.ExcludeOutbound {
		rules = append(rules, Rule{Match: ports, Comment: "excluded outbound port"})
	}
	for _, prefix := range c.ExcludeDestinations {
		rules = append(rules, Rule{Match: Destination(prefix), Comment: "excluded destination"})
	}
	return append(rules, Rule{Match: TCP{}, RedirectTo: c.OutboundPort, Comment: "outbound, to the proxy"})
}
