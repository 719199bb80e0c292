package redirect

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Names of the command line's flags; errors name them.
const (
	FlagInboundPort          = "inbound-port"
	FlagOutboundPort         = "outbound-port"
	FlagProxyUID             = "proxy-uid"
	FlagProxyGID             = "proxy-gid"
	FlagIncludeInboundPorts  = "include-inbound-ports"
	FlagExcludeInboundPorts  = "exclude-inbound-ports"
	FlagExcludeOutboundPorts = "exclude-outbound-ports"
	FlagExcludeCIDRs         = "exclude-cidrs"
)

// maxEntries limits each list: every entry is a rule that each new connection
// is compared with.
const maxEntries = 256

// Flags are the flags of the command line. Each value of a list may have
// several entries, separated by commas.
type Flags struct {
	InboundPort, OutboundPort                                      string
	ProxyUIDs, ProxyGIDs                                           []string
	IncludeInboundPorts, ExcludeInboundPorts, ExcludeOutboundPorts []string
	ExcludeCIDRs                                                   []string
}

// Parse parses the flags. The error names every invalid flag and what to write
// instead.
func Parse(f Flags) (Config, error) {
	var p parser
	c := Config{
		InboundPort:         p.proxyPort(FlagInboundPort, f.InboundPort),
		OutboundPort:        p.proxyPort(FlagOutboundPort, f.OutboundPort),
		ProxyUIDs:           list(&p, FlagProxyUID, f.ProxyUIDs, parseID),
		ProxyGIDs:           list(&p, FlagProxyGID, f.ProxyGIDs, parseID),
		IncludeInbound:      list(&p, FlagIncludeInboundPorts, f.IncludeInboundPorts, parsePorts),
		ExcludeInbound:      list(&p, FlagExcludeInboundPorts, f.ExcludeInboundPorts, parsePorts),
		ExcludeOutbound:     list(&p, FlagExcludeOutboundPorts, f.ExcludeOutboundPorts, parsePorts),
		ExcludeDestinations: list(&p, FlagExcludeCIDRs, f.ExcludeCIDRs, parsePrefix),
	}
	if len(p.errs) == 0 {
		p.together(c)
	}
	if len(p.errs) > 0 {
		return Config{}, errors.Join(p.errs...)
	}
	return c, nil
}

// parser collects all errors, so that one run reports all of them.
type parser struct {
	errs []error
}

func (p *parser) fail(flag, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("--"+flag+": "+format, args...))
}

// together checks the combinations of flags.
func (p *parser) together(c Config) {
	if c.InboundPort == 0 && c.OutboundPort == 0 {
		p.errs = append(p.errs, fmt.Errorf("nothing to redirect: write the ports that the proxy listens on with --%s, --%s or both", FlagInboundPort, FlagOutboundPort))
	}
	if c.OutboundPort != 0 && len(c.ProxyUIDs) == 0 && len(c.ProxyGIDs) == 0 {
		p.fail(FlagOutboundPort, "the proxy's own connections would loop back to it; write --%s with the runAsUser of the proxy's container, or --%s", FlagProxyUID, FlagProxyGID)
	}
	if len(c.IncludeInbound) > 0 && len(c.ExcludeInbound) > 0 {
		p.fail(FlagIncludeInboundPorts, "only these ports are redirected, so --%s has nothing to exclude; write one of the two", FlagExcludeInboundPorts)
	}
	p.needs(FlagIncludeInboundPorts, len(c.IncludeInbound), FlagInboundPort, c.InboundPort)
	p.needs(FlagExcludeInboundPorts, len(c.ExcludeInbound), FlagInboundPort, c.InboundPort)
	p.needs(FlagExcludeOutboundPorts, len(c.ExcludeOutbound), FlagOutboundPort, c.OutboundPort)
	p.needs(FlagExcludeCIDRs, len(c.ExcludeDestinations), FlagOutboundPort, c.OutboundPort)
	p.without(FlagIncludeInboundPorts, c.IncludeInbound, FlagInboundPort, c.InboundPort)
	p.without(FlagExcludeInboundPorts, c.ExcludeInbound, FlagInboundPort, c.InboundPort)
	p.without(FlagExcludeOutboundPorts, c.ExcludeOutbound, FlagOutboundPort, c.OutboundPort)
}

func (p *parser) needs(flag string, entries int, portFlag string, port uint16) {
	if entries > 0 && port == 0 {
		p.fail(flag, "has no effect without --%s; write both or neither", portFlag)
	}
}

func (p *parser) without(flag string, ranges []PortRange, portFlag string, port uint16) {
	for _, r := range ranges {
		if port != 0 && r.contains(port) {
			p.fail(flag, "%s holds %d, which is the proxy's own --%s; leave that port out of the list", r.text(), port, portFlag)
		}
	}
}

func (p *parser) proxyPort(flag, word string) uint16 {
	if word == "" || word == "0" {
		return 0
	}
	port, err := parsePort(word)
	if err != nil {
		p.fail(flag, "%v; write a number from 1 to 65535, or remove the flag", err)
	}
	return port
}

// list parses the entries of a flag in order, without duplicates.
func list[T comparable](p *parser, flag string, words []string, parse func(string) (T, error)) []T {
	var values []T
	entries := 0
	for _, word := range words {
		for entry := range strings.SplitSeq(word, ",") {
			if entries++; entries > maxEntries {
				p.fail(flag, "more than %d entries; write ranges or wider networks", maxEntries)
				return nil
			}
			value, err := parse(strings.TrimSpace(entry))
			if err != nil {
				p.fail(flag, "%v", err)
			} else if !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
	}
	return values
}

func parsePort(word string) (uint16, error) {
	port, err := strconv.ParseUint(word, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%q is not a port", word)
	}
	return uint16(port), nil
}

func parsePorts(word string) (PortRange, error) {
	first, last, isRange := strings.Cut(word, "-")
	if !isRange {
		last = first
	}
	from, err := parsePort(first)
	to, err2 := parsePort(last)
	switch {
	case err != nil || err2 != nil:
		return PortRange{}, fmt.Errorf("%q is not a port; write numbers from 1 to 65535 or ranges, such as 8080,9000-9010", word)
	case from > to:
		return PortRange{}, fmt.Errorf("%q is in descending order; write %d-%d", word, to, from)
	}
	return PortRange{from, to}, nil
}

func parseID(word string) (uint32, error) {
	id, err := strconv.ParseUint(word, 10, 32)
	// The highest id means "none" to the kernel.
	if err != nil || id == 1<<32-1 {
		return 0, fmt.Errorf("%q is not an id; write a number, the runAsUser or runAsGroup of the proxy's container, such as 1337", word)
	}
	return uint32(id), nil
}

func parsePrefix(word string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(word)
	if addr, addrErr := netip.ParseAddr(word); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is neither a network nor an address; write 10.0.0.0/8,169.254.169.254,fd00::/8, for example", word)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q is IPv4 written as IPv6; write the IPv4 network", word)
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("%q has host bits set; write %s", word, prefix.Masked())
	}
	return prefix, nil
}
