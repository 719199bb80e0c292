// Package redirect sends a pod's TCP traffic to the proxy that runs beside its
// application, with nftables rules in the pod's network namespace.
//
// The pure part turns a Config into a Ruleset, which is data and renders as the
// text that nft would print. Apply, Load and Remove bring it into the kernel
// and back.
//
// The rules, and why they are these:
//
//   - Only packets that open a connection are redirected. A connection that
//     was open before the rules came keeps going where it went.
//   - Only TCP is redirected; DNS over UDP is untouched.
//   - Inbound, only what is addressed to the pod itself is redirected: a pod
//     that forwards, for containers or a virtual machine within, goes on
//     doing so.
//   - Outbound, what stays in the pod is left alone: the application's own
//     localhost, and the proxy that calls the application.
//   - What the proxy itself sends, known by its uid or gid, is left alone, or
//     it would be sent back to the proxy for ever.
package redirect

import (
	"fmt"
	"net/netip"
)

// A Config says what is redirected, and what is left out.
type Config struct {
	// InboundPort is the proxy's port for connections to the pod; 0 leaves
	// them alone.
	InboundPort uint16
	// OutboundPort is the proxy's port for connections out of the pod; 0
	// leaves them alone.
	OutboundPort uint16
	// ProxyUIDs and ProxyGIDs are whom the proxy's connections belong to.
	ProxyUIDs, ProxyGIDs []uint32
	// IncludeInbound, if any, are the only ports redirected inbound.
	IncludeInbound []PortRange
	// ExcludeInbound and ExcludeOutbound are destination ports left alone.
	ExcludeInbound, ExcludeOutbound []PortRange
	// ExcludeDestinations are destinations left alone outbound.
	ExcludeDestinations []netip.Prefix
}

// A PortRange is the ports from First to Last, both included.
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

// Plan returns the rules that do what the configuration says.
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
		{Match: NotOpening{}, Comment: "open before these rules"},
		{Match: NotLocal{}, Comment: "forwarded, not for this pod"},
	}
	for _, ports := range c.ExcludeInbound {
		rules = append(rules, Rule{Match: ports, Comment: "inbound port left out"})
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
		{Match: NotOpening{}, Comment: "open before these rules"},
		{Match: Loopback{}, Comment: "stays in the pod"},
	}
	for _, uid := range c.ProxyUIDs {
		rules = append(rules, Rule{Match: UID(uid), Comment: "from the proxy itself"})
	}
	for _, gid := range c.ProxyGIDs {
		rules = append(rules, Rule{Match: GID(gid), Comment: "from the proxy itself"})
	}
	for _, ports := range c.ExcludeOutbound {
		rules = append(rules, Rule{Match: ports, Comment: "outbound port left out"})
	}
	for _, prefix := range c.ExcludeDestinations {
		rules = append(rules, Rule{Match: Destination(prefix), Comment: "destination left out"})
	}
	return append(rules, Rule{Match: TCP{}, RedirectTo: c.OutboundPort, Comment: "outbound, to the proxy"})
}
