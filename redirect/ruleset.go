package redirect

import (
	"fmt"
	"net/netip"
	"strings"
)

// Table is the name of usher's own table, in nftables' inet family: one table
// serves IPv4 and IPv6, and no other program writes to it.
const Table = "usher"

// priority is nftables' priority of destination NAT.
const priority = -100

// A Ruleset is the content of the table.
type Ruleset struct {
	Chains []Chain
}

// A Chain is the rules at one hook, evaluated in order until one applies.
type Chain struct {
	Name  string
	Hook  Hook // empty in a chain that usher did not write
	Rules []Rule
}

// A Hook is the point in the kernel where a chain sees packets.
type Hook string

// Hooks that usher's chains use.
const (
	Prerouting Hook = "prerouting" // packets that arrive
	Output     Hook = "output"     // packets that the pod's processes send
)

// A Rule is the action for matching packets.
type Rule struct {
	Match Match
	// RedirectTo is the local port to send them to; 0 does not redirect them.
	RedirectTo uint16
	Comment    string
}

// A Match is a condition on a packet. Its text is that of nft.
type Match interface {
	fmt.Stringer
	match()
}

// Matches.
type (
	// TCP matches every TCP packet.
	TCP struct{}
	// NotOpening matches TCP packets that do not open a connection.
	NotOpening struct{}
	// NotLocal matches packets to other hosts.
	NotLocal struct{}
	// Loopback matches packets that leave through the loopback interface, which
	// are all packets to one of the pod's own addresses.
	Loopback struct{}
	// UID matches packets from sockets of a user.
	UID uint32
	// GID matches packets from sockets of a group.
	GID uint32
	// Destination matches packets by their destination address.
	Destination netip.Prefix
	// NotOwned represents a rule in the table that usher did not write.
	NotOwned struct{}
)

func (TCP) match()         {}
func (NotOpening) match()  {}
func (NotLocal) match()    {}
func (Loopback) match()    {}
func (UID) match()         {}
func (GID) match()         {}
func (PortRange) match()   {}
func (Destination) match() {}
func (NotOwned) match()    {}

func (TCP) String() string        { return "meta l4proto tcp" }
func (NotOpening) String() string { return "tcp flags & (fin | syn | rst | ack) != syn" }
func (NotLocal) String() string   { return "fib daddr type != local" }
func (Loopback) String() string   { return `oifname "lo"` }
func (u UID) String() string      { return fmt.Sprintf("meta skuid %d", uint32(u)) }
func (g GID) String() string      { return fmt.Sprintf("meta skgid %d", uint32(g)) }

// String returns the condition on the destination port.
func (r PortRange) String() string { return "tcp dport " + r.text() }

func (d Destination) String() string {
	prefix, family, proto := netip.Prefix(d), "ip6", "ipv6"
	if prefix.Addr().Is4() {
		family, proto = "ip", "ipv4"
	}
	if prefix.Bits() == 0 {
		return "meta nfproto " + proto
	}
	return fmt.Sprintf("%s daddr %s", family, prefix)
}

func (NotOwned) String() string { return "# a rule that usher did not write" }

func (r Rule) String() string {
	if _, ok := r.Match.(NotOwned); ok {
		return r.Match.String()
	}
	verdict := "return"
	if r.RedirectTo != 0 {
		verdict = fmt.Sprintf("redirect to :%d", r.RedirectTo)
	}
	text := r.Match.String() + " " + verdict
	if r.Comment != "" {
		text += fmt.Sprintf(" comment %q", r.Comment)
	}
	return text
}

// String returns the ruleset in the syntax of nft.
func (r Ruleset) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s {\n", Table)
	for i, chain := range r.Chains {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\tchain %s {\n", chain.Name)
		if chain.Hook != "" {
			fmt.Fprintf(&b, "\t\ttype nat hook %s priority %d; policy accept;\n", chain.Hook, priority)
		}
		for _, rule := range chain.Rules {
			fmt.Fprintf(&b, "\t\t%s\n", rule)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}
