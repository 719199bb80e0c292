package redirect

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlanReadsAsNftWritesIt(t *testing.T) {
	tests := map[string]struct {
		config Config
		want   string
	}{
		"both directions, everything left out that can be": {
			Config{
				InboundPort: 15006, OutboundPort: 15001, ProxyUIDs: []uint32{1337}, ProxyGIDs: []uint32{1338},
				ExcludeInbound: []PortRange{{15020, 15020}, {9000, 9010}}, ExcludeOutbound: []PortRange{{5432, 5432}},
				ExcludeDestinations: []netip.Prefix{
					netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"),
					netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"),
				},
			},
			`table inet usher {
	chain inbound {
		type nat hook prerouting priority -100; policy accept;
		tcp flags & (fin | syn | rst | ack) != syn return comment "opened before these rules"
		fib daddr type != local return comment "forwarded by this pod"
		tcp dport 15020 return comment "excluded inbound port"
		tcp dport 9000-9010 return comment "excluded inbound port"
		meta l4proto tcp redirect to :15006 comment "inbound, to the proxy"
	}

	chain outbound {
		type nat hook output priority -100; policy accept;
		tcp flags & (fin | syn | rst | ack) != syn return comment "opened before these rules"
		oifname "lo" return comment "stays in the pod"
		meta skuid 1337 return comment "from the proxy itself"
		meta skgid 1338 return comment "from the proxy itself"
		tcp dport 5432 return comment "excluded outbound port"
		ip daddr 10.0.0.0/8 return comment "excluded destination"
		ip6 daddr fd00::/8 return comment "excluded destination"
		meta nfproto ipv4 return comment "excluded destination"
		meta nfproto ipv6 return comment "excluded destination"
		meta l4proto tcp redirect to :15001 comment "outbound, to the proxy"
	}
}
`},
		"chosen inbound ports alone": {
			Config{InboundPort: 15006, IncludeInbound: []PortRange{{8080, 8080}, {8443, 8444}}},
			`table inet usher {
	chain inbound {
		type nat hook prerouting priority -100; policy accept;
		tcp flags & (fin | syn | rst | ack) != syn return comment "opened before these rules"
		fib daddr type != local return comment "forwarded by this pod"
		tcp dport 8080 redirect to :15006 comment "inbound port, to the proxy"
		tcp dport 8443-8444 redirect to :15006 comment "inbound port, to the proxy"
	}
}
`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Plan(tc.config).String()); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesOfOthersAndChainsAreMarked(t *testing.T) {
	rules := Ruleset{Chains: []Chain{{Name: "other", Rules: []Rule{{Match: NotOwned{}}}}}}
	want := `table inet usher {
	chain other {
		# a rule that usher did not write
	}
}
`
	if diff := cmp.Diff(want, rules.String()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
