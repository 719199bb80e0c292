package reach

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// A Destination is a host or a range of addresses to which the administrator
// lets the controller connect for every object, with a port.
type Destination struct {
	// host is a name in lower case, or "" if there is a prefix; with below only
	// the names below it.
	host   string
	below  bool
	prefix netip.Prefix
	// port is 0 for every port.
	port uint16
}

const destinationForms = "write HOST:PORT, *.DOMAIN:PORT, ADDRESS:PORT or CIDR:PORT, IPv6 in brackets and * for every port, such as minio.storage.svc:9000, 10.1.0.0/16:9000 or [fd00:1::/64]:*"

// ParseDestinations parses the values of --store-endpoints.
func ParseDestinations(texts []string) ([]Destination, error) {
	var all []Destination
	for _, text := range texts {
		d, err := parseDestination(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w: %s", text, err, destinationForms)
		}
		all = append(all, d)
	}
	return all, nil
}

func parseDestination(text string) (Destination, error) {
	host, port, err := splitPort(text)
	if err != nil {
		return Destination{}, err
	}
	d := Destination{}
	if port != "*" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return Destination{}, fmt.Errorf("%q is not a port", port)
		}
		d.port = uint16(n)
	}
	if strings.Contains(host, "/") {
		d.prefix, err = netip.ParsePrefix(host)
		switch {
		case err != nil:
			return Destination{}, fmt.Errorf("%q is not a CIDR", host)
		case d.prefix.Addr().Is4In6():
			return Destination{}, fmt.Errorf("%s is a mapped IPv4 address", host)
		case d.prefix != d.prefix.Masked():
			return Destination{}, fmt.Errorf("%s has bits outside of its mask: %s", host, d.prefix.Masked())
		}
		return d, nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return Destination{}, fmt.Errorf("%s has a zone", host)
		}
		a = a.Unmap()
		d.prefix = netip.PrefixFrom(a, a.BitLen())
		return d, nil
	}
	d.host = strings.ToLower(host)
	d.host, d.below = strings.CutPrefix(d.host, "*.")
	if problems := validation.IsDNS1123Subdomain(d.host); len(problems) > 0 || looksNumeric(d.host) {
		return Destination{}, fmt.Errorf("%q is not a host", host)
	}
	return d, nil
}

// splitPort is net.SplitHostPort that demands brackets around IPv6, and forbids
// them around anything else.
func splitPort(text string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(text)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("it has no port")
	case strings.Contains(host, ":") != strings.HasPrefix(text, "["):
		return "", "", fmt.Errorf("only IPv6 is written in brackets")
	}
	return host, port, nil
}

// looksNumeric reports whether resolvers may take a name for an IPv4 address,
// such as 127.1.
func looksNumeric(host string) bool {
	last := host[strings.LastIndex(host, ".")+1:]
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}

// names reports whether the destination is the host, by its name, and the port.
func (d Destination) names(host string, port uint16) bool {
	if d.host == "" || d.port != 0 && d.port != port {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if d.below {
		return strings.HasSuffix(host, "."+d.host)
	}
	return host == d.host
}

// contains reports whether the destination contains the address and the port.
func (d Destination) contains(a netip.AddrPort) bool {
	return d.prefix.IsValid() && (d.port == 0 || d.port == a.Port()) && d.prefix.Contains(plain(a.Addr()))
}
