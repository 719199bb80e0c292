// Package subnet knows the valid ranges and gateways of networks. Rules,
// backends and the webhook parse the fields of a Network with it.
package subnet

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Sizes of a range, as bits: the smallest has room for its own address, a
// gateway, a pod and the broadcast address; the largest is the size of the
// largest private range.
const (
	smallestHostBits  = 2
	largestPrefixBits = 8
)

// A Subnet is a range of addresses, and its gateway.
type Subnet struct {
	// Prefix is the range, without host bits.
	Prefix netip.Prefix
	// Gateway is an address in the range; the zero address means none.
	Gateway netip.Addr
}

// Parse parses a range and a gateway; the error names everything that is wrong.
func Parse(cidr, gateway string) (Subnet, error) {
	prefix, err := ParseCIDR(cidr)
	if err != nil {
		return Subnet{}, fmt.Errorf("cidr %w", err)
	}
	address, err := ParseGateway(prefix, gateway)
	if err != nil {
		return Subnet{}, fmt.Errorf("gateway %w", err)
	}
	return Subnet{Prefix: prefix, Gateway: address}, nil
}

// ParseCIDR parses a range and clears its host bits. Its error is a predicate
// that follows the name of a field.
func ParseCIDR(text string) (netip.Prefix, error) {
	address, _, slash := strings.Cut(text, "/")
	addr, err := netip.ParseAddr(address)
	switch {
	case text == "":
		return netip.Prefix{}, errors.New("is not set: write a range of addresses, such as 192.168.0.0/16")
	case err != nil || addr.Zone() != "":
		return netip.Prefix{}, fmt.Errorf("is %s, which does not begin with an IP address: write a range, such as 192.168.0.0/16", quoted(text))
	case addr.Is4In6():
		return netip.Prefix{}, fmt.Errorf("is %s, an IPv4 range written as IPv6: write it as IPv4", quoted(text))
	case !slash:
		return netip.Prefix{}, fmt.Errorf("is %s, which has no prefix length: write one after a slash, such as %s/%d", quoted(text), address, usualBits(addr))
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("is %s, whose prefix length is invalid: write a number up to %d", quoted(text), addr.BitLen()-smallestHostBits)
	}
	prefix = prefix.Masked()
	switch {
	case prefix.Bits() > addr.BitLen()-smallestHostBits:
		return netip.Prefix{}, fmt.Errorf("is %s, which has no room for a gateway and a pod: write a prefix length of %d or less", quoted(text), addr.BitLen()-smallestHostBits)
	case prefix.Bits() < largestPrefixBits:
		return netip.Prefix{}, fmt.Errorf("is %s, larger than any private range: write a prefix length of %d or more", quoted(text), largestPrefixBits)
	}
	for _, r := range reserved() {
		if r.prefix.Overlaps(prefix) {
			return netip.Prefix{}, fmt.Errorf("is %s, which has %s addresses (%s): write a private range, such as 192.168.0.0/16", quoted(text), r.what, r.prefix)
		}
	}
	return prefix, nil
}

// ParseGateway parses the gateway of a range; "" means none. Its error is a
// predicate.
func ParseGateway(prefix netip.Prefix, text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, nil
	}
	addr, err := netip.ParseAddr(text)
	first := prefix.Addr().Next()
	switch {
	case err != nil || addr.Zone() != "":
		return netip.Addr{}, fmt.Errorf("is %s, which is not an IP address: write one, such as %s", quoted(text), first)
	case addr.Is4() != prefix.Addr().Is4():
		return netip.Addr{}, fmt.Errorf("is %s, of another family than %s: write an address in the range, such as %s", quoted(text), prefix, first)
	case !prefix.Contains(addr):
		return netip.Addr{}, fmt.Errorf("is %s, outside of %s: write an address in the range, such as %s", quoted(text), prefix, first)
	case addr == prefix.Addr():
		return netip.Addr{}, fmt.Errorf("is %s, the address of %s itself: write another of the range, such as %s", quoted(text), prefix, first)
	case addr.Is4() && addr == Last(prefix):
		return netip.Addr{}, fmt.Errorf("is %s, the broadcast address of %s: write another of the range, such as %s", quoted(text), prefix, first)
	}
	return addr, nil
}

// HostBits reports whether a range has host bits set, which are ignored.
func HostBits(text string) bool {
	prefix, err := netip.ParsePrefix(text)
	return err == nil && prefix != prefix.Masked()
}

// Last returns the last address of a range: in IPv4 the broadcast address.
func Last(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// GatewayText returns the gateway, or "".
func (s Subnet) GatewayText() string {
	if !s.Gateway.IsValid() {
		return ""
	}
	return s.Gateway.String()
}

// usualBits is the prefix length to suggest.
func usualBits(addr netip.Addr) int {
	if addr.Is4() {
		return 24
	}
	return 64
}

// A reservation is a range that networks cannot use.
type reservation struct {
	prefix netip.Prefix
	what   string
}

func reserved() []reservation {
	return []reservation{
		{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
		{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
		{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
		{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
		{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
		{netip.MustParsePrefix("::/8"), "unspecified, loopback and reserved"},
		{netip.MustParsePrefix("fe80::/10"), "link-local"},
		{netip.MustParsePrefix("ff00::/8"), "multicast"},
	}
}

// quoted returns a text in quotes, shortened if it is long.
func quoted(text string) string {
	if len(text) > 80 {
		return strconv.Quote(text[:77]) + "..."
	}
	return strconv.Quote(text)
}
