package reach

import (
	"encoding/binary"
	"net/netip"
)

// A span is a range of addresses to which no store leads unless the
// administrator lists it.
type span struct {
	prefix netip.Prefix
	// name completes the sentence "it leads to …".
	name string
	// mayHold is true if stores of earlier releases may have such an address. No
	// pod but the controller's own serves on loopback addresses, and only a cloud
	// on link-local ones.
	mayHold bool
}

// spans are from the registries of special-purpose addresses (RFC 6890), with
// the names of their documents.
var spans = []span{
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address", false},
	{netip.MustParsePrefix("::1/128"), "a loopback address", false},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address", false},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address", false},
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address", false},
	{netip.MustParsePrefix("::/128"), "an unspecified address", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address", false},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address", false}, // with the broadcast address
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address", false},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address (RFC 1918)", true},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address (RFC 1918)", true},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address (RFC 1918)", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "a shared address (RFC 6598)", true},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks (RFC 2544)", true},
	{netip.MustParsePrefix("fc00::/7"), "a unique local address (RFC 4193)", true},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address (RFC 3879)", true},
}

// spanOf returns the span of an address, or of an IPv4 address in it; nil if it
// is public. A span that no store may have takes precedence.
func spanOf(a netip.Addr) (found *span) {
	for _, is := range readings(a) {
		for i := range spans {
			if spans[i].prefix.Contains(is) && (found == nil || found.mayHold) {
				found = &spans[i]
			}
		}
	}
	return found
}

// The forms of IPv6 addresses that contain an IPv4 address, to which a
// translator or tunnel may lead.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	sixToFour  = netip.MustParsePrefix("2002::/16") // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32") // RFC 4380
	isatap     = uint32(0x00005efe)                 // RFC 5214, in bytes 8 to 11 but for two flags
)

// readings returns the address and every IPv4 address that it may stand for.
// All of them are judged: usher does not know which translators a network has.
func readings(a netip.Addr) []netip.Addr {
	a = plain(a)
	all := []netip.Addr{a}
	if !a.Is6() {
		return all
	}
	b := a.As16()
	add := func(bytes ...byte) { all = append(all, netip.AddrFrom4([4]byte(bytes))) }
	switch {
	case compatible.Contains(a) && a != netip.IPv6Unspecified() && a != netip.IPv6Loopback(),
		nat64.Contains(a), translated.Contains(a), binary.BigEndian.Uint32(b[8:12])&^0x03000000 == isatap:
		add(b[12:16]...)
	case localNAT64.Contains(a):
		// The length of the network's own prefix is unknown; see RFC 6052, 2.2. Byte
		// 8 is zero, and so are those after the IPv4 address.
		add(b[12:16]...)
		if b[8] == 0 && zero(b[11:]) {
			add(b[6], b[7], b[9], b[10])
		}
		if b[8] == 0 && zero(b[12:]) {
			add(b[7], b[9], b[10], b[11])
		}
		if b[8] == 0 && zero(b[13:]) {
			add(b[9:13]...)
		}
	case sixToFour.Contains(a):
		add(b[2:6]...)
	case teredo.Contains(a):
		add(b[4:8]...)
		add(^b[12], ^b[13], ^b[14], ^b[15])
	}
	return all
}

// plain returns an address without its zone, and as IPv4 if it is mapped.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func zero(bytes []byte) bool {
	for _, b := range bytes {
		if b != 0 {
			return false
		}
	}
	return true
}
