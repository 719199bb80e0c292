package reach_test

import (
	"net/netip"
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/reach"
)

func TestRange_OfEveryFormOfAnAddress(t *testing.T) {
	for address, want := range map[string]string{
		"8.8.8.8":         "",
		"2600:1f18::1":    "",
		"127.0.0.1":       "a loopback address",
		"127.255.255.254": "a loopback address",
		"::1":             "a loopback address",
		"169.254.169.254": "a link-local address",
		"fe80::1":         "a link-local address",
		"fe80::1%eth0":    "a link-local address",
		"febf::1":         "a link-local address",
		"0.0.0.0":         "an unspecified address",
		"0.1.2.3":         "an unspecified address",
		"::":              "an unspecified address",
		"224.0.0.1":       "a multicast address",
		"ff02::1":         "a multicast address",
		"255.255.255.255": "a reserved address",
		"10.0.0.1":        "a private address (RFC 1918)",
		"172.16.0.1":      "a private address (RFC 1918)",
		"172.31.255.255":  "a private address (RFC 1918)",
		"172.32.0.1":      "",
		"192.168.1.1":     "a private address (RFC 1918)",
		"192.169.1.1":     "",
		"100.64.0.1":      "a shared address (RFC 6598)",
		"100.128.0.1":     "",
		"fd00:ec2::254":   "a unique local address (RFC 4193)",
		"fc00::1":         "a unique local address (RFC 4193)",
		"fec0::1":         "a site-local address (RFC 3879)",
		// IPv4 in IPv6.
		"::ffff:127.0.0.1":              "a loopback address",
		"::ffff:169.254.169.254":        "a link-local address",
		"::ffff:8.8.8.8":                "",
		"::ffff:0:10.0.0.1":             "a private address (RFC 1918)",
		"::10.0.0.1":                    "a private address (RFC 1918)",
		"64:ff9b::169.254.169.254%eth0": "a link-local address",
		"64:ff9b::10.0.0.1":             "a private address (RFC 1918)",
		"64:ff9b::8.8.8.8":              "",
		"64:ff9b:1::10.0.0.1":           "a private address (RFC 1918)",
		"64:ff9b:1:1::8.8.8.8":          "",
		// A prefix of 48, 56 and 64 bits (RFC 6052, 2.2), which as 96 bits is not public
		// either.
		"64:ff9b:1:a00:0:100::":      "an unspecified address",
		"64:ff9b:1:7f:0:1::":         "an unspecified address",
		"64:ff9b:1:0:a9:fea9:fe00:0": "a reserved address",
		"2001:0:a00:1::5601:5601":    "a link-local address", // Teredo: 169.254.169.254 from a private server
		"2002:a00:1::1":              "a private address (RFC 1918)",
		"2002:808:808::1":            "",
		"2001:0:808:808::f5ff:fffe":  "a private address (RFC 1918)", // Teredo: 10.0.0.1, inverted
		"2001:0:a00:1::f7f7:f7f7":    "a private address (RFC 1918)", // Teredo: its server
		"2600::5efe:10.0.0.1":        "a private address (RFC 1918)", // ISATAP
		"2600::200:5efe:10.0.0.1":    "a private address (RFC 1918)",
		"2600::200:5efe:8.8.8.8":     "",
	} {
		if got := reach.Range(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is %q, want %q", address, got, want)
		}
	}
}
