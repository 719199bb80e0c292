package redirect

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		flags Flags
		want  Config
	}{
		"inbound alone needs no uid": {
			Flags{InboundPort: "15006"},
			Config{InboundPort: 15006},
		},
		"a port of 0 is the same as none": {
			Flags{InboundPort: "15006", OutboundPort: "0"},
			Config{InboundPort: 15006},
		},
		"a gid tells the proxy as well as a uid": {
			Flags{OutboundPort: "1", ProxyGIDs: []string{"0"}},
			Config{OutboundPort: 1, ProxyGIDs: []uint32{0}},
		},
		"lists are split at commas, flags given again add up, repetitions count once": {
			Flags{
				InboundPort: "15006", OutboundPort: "65535",
				ProxyUIDs:            []string{"1337, 1338", "1337"},
				ExcludeInboundPorts:  []string{"15020", "9000-9010,15020"},
				ExcludeOutboundPorts: []string{"5432"},
				ExcludeCIDRs:         []string{"10.0.0.0/8,169.254.169.254", "fd00::/8,::1"},
			},
			Config{
				InboundPort: 15006, OutboundPort: 65535,
				ProxyUIDs:       []uint32{1337, 1338},
				ExcludeInbound:  []PortRange{{15020, 15020}, {9000, 9010}},
				ExcludeOutbound: []PortRange{{5432, 5432}},
				ExcludeDestinations: []netip.Prefix{
					netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("169.254.169.254/32"),
					netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("::1/128"),
				},
			},
		},
		"chosen inbound ports": {
			Flags{InboundPort: "15006", IncludeInboundPorts: []string{"8080,8443"}},
			Config{InboundPort: 15006, IncludeInbound: []PortRange{{8080, 8080}, {8443, 8443}}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.flags)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseNamesTheFlagAndWhatToWrite(t *testing.T) {
	var many []string
	for i := range maxEntries + 1 {
		many = append(many, strconv.Itoa(i+1))
	}
	const (
		portHelp = `write a number from 1 to 65535, or remove the flag`
		listHelp = `write numbers from 1 to 65535 or ranges, such as 8080,9000-9010`
		idHelp   = `write a number, the runAsUser or runAsGroup of the proxy's container, such as 1337`
		cidrHelp = `write 10.0.0.0/8,169.254.169.254,fd00::/8, for example`
	)
	out := func(f Flags) Flags {
		f.OutboundPort, f.ProxyUIDs = "15001", []string{"1337"}
		return f
	}
	tests := map[string]struct {
		flags Flags
		want  []string
	}{
		"nothing to do": {Flags{}, []string{
			`nothing to redirect: write the ports that the proxy listens on with --inbound-port, --outbound-port or both`}},
		"a port out of range": {Flags{InboundPort: "65536"}, []string{
			`--inbound-port: "65536" is not a port; ` + portHelp}},
		"a negative port": {Flags{InboundPort: "-1"}, []string{
			`--inbound-port: "-1" is not a port; ` + portHelp}},
		"a port by name": {out(Flags{InboundPort: "http"}), []string{
			`--inbound-port: "http" is not a port; ` + portHelp}},
		"a list that is none": {Flags{InboundPort: "1", ExcludeInboundPorts: []string{"http,0,,1-,3-x,5-6-7"}}, []string{
			`--exclude-inbound-ports: "http" is not a port; ` + listHelp,
			`--exclude-inbound-ports: "0" is not a port; ` + listHelp,
			`--exclude-inbound-ports: "" is not a port; ` + listHelp,
			`--exclude-inbound-ports: "1-" is not a port; ` + listHelp,
			`--exclude-inbound-ports: "3-x" is not a port; ` + listHelp,
			`--exclude-inbound-ports: "5-6-7" is not a port; ` + listHelp}},
		"a range backwards": {out(Flags{ExcludeOutboundPorts: []string{"20-10"}}), []string{
			`--exclude-outbound-ports: "20-10" is in descending order; write 10-20`}},
		"a list too long": {Flags{InboundPort: "15006", ExcludeInboundPorts: many}, []string{
			`--exclude-inbound-ports: more than 256 entries; write ranges or wider networks`}},
		"no uid": {Flags{OutboundPort: "15001"}, []string{
			`--outbound-port: the proxy's own connections would loop back to it; write --proxy-uid with the runAsUser of the proxy's container, or --proxy-gid`}},
		"ids that are none": {Flags{OutboundPort: "15001", ProxyUIDs: []string{"envoy"}, ProxyGIDs: []string{"4294967295"}}, []string{
			`--proxy-uid: "envoy" is not an id; ` + idHelp,
			`--proxy-gid: "4294967295" is not an id; ` + idHelp}},
		"networks that are none": {out(Flags{ExcludeCIDRs: []string{"10.0.0.0/33,example.com,fe80::1%eth0,10.0.0.0/255.0.0.0"}}), []string{
			`--exclude-cidrs: "10.0.0.0/33" is neither a network nor an address; ` + cidrHelp,
			`--exclude-cidrs: "example.com" is neither a network nor an address; ` + cidrHelp,
			`--exclude-cidrs: "fe80::1%eth0" is neither a network nor an address; ` + cidrHelp,
			`--exclude-cidrs: "10.0.0.0/255.0.0.0" is neither a network nor an address; ` + cidrHelp}},
		"a network with bits behind its mask": {out(Flags{ExcludeCIDRs: []string{"10.1.2.3/8,fd00::1/8"}}), []string{
			`--exclude-cidrs: "10.1.2.3/8" has host bits set; write 10.0.0.0/8`,
			`--exclude-cidrs: "fd00::1/8" has host bits set; write fd00::/8`}},
		"IPv4 in IPv6's clothes": {out(Flags{ExcludeCIDRs: []string{"::ffff:10.0.0.1,::ffff:10.0.0.0/104"}}), []string{
			`--exclude-cidrs: "::ffff:10.0.0.1" is IPv4 written as IPv6; write the IPv4 network`,
			`--exclude-cidrs: "::ffff:10.0.0.0/104" is IPv4 written as IPv6; write the IPv4 network`}},
		"the proxy's own ports in the lists": {out(Flags{InboundPort: "15006", ExcludeInboundPorts: []string{"15000-15010"}, ExcludeOutboundPorts: []string{"15001"}}), []string{
			`--exclude-inbound-ports: 15000-15010 holds 15006, which is the proxy's own --inbound-port; leave that port out of the list`,
			`--exclude-outbound-ports: 15001 holds 15001, which is the proxy's own --outbound-port; leave that port out of the list`}},
		"the proxy's own port among the chosen": {Flags{InboundPort: "15006", IncludeInboundPorts: []string{"15006"}}, []string{
			`--include-inbound-ports: 15006 holds 15006, which is the proxy's own --inbound-port; leave that port out of the list`}},
		"chosen ports and ports left out": {Flags{InboundPort: "15006", IncludeInboundPorts: []string{"80"}, ExcludeInboundPorts: []string{"81"}}, []string{
			`--include-inbound-ports: only these ports are redirected, so --exclude-inbound-ports has nothing to exclude; write one of the two`}},
		"exceptions without a rule": {Flags{InboundPort: "15006", ExcludeOutboundPorts: []string{"1"}, ExcludeCIDRs: []string{"10.0.0.0/8"}}, []string{
			`--exclude-outbound-ports: has no effect without --outbound-port; write both or neither`,
			`--exclude-cidrs: has no effect without --outbound-port; write both or neither`}},
		"inbound exceptions without a rule": {out(Flags{IncludeInboundPorts: []string{"1"}}), []string{
			`--include-inbound-ports: has no effect without --inbound-port; write both or neither`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.flags)
			if err == nil {
				t.Fatal("parsed")
			}
			if diff := cmp.Diff(tc.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("15006", "8080,9000-9010", "10.0.0.0/8,fd00::/8", "1337")
	f.Add("0", "-", "::ffff:1.2.3.4/0", "-1")
	f.Fuzz(func(t *testing.T, port, ports, cidrs, id string) {
		config, err := Parse(Flags{
			InboundPort: port, OutboundPort: port, ProxyUIDs: []string{id},
			ExcludeInboundPorts: []string{ports}, ExcludeOutboundPorts: []string{ports}, ExcludeCIDRs: []string{cidrs},
		})
		if err != nil {
			return
		}
		if rules := Plan(config); len(rules.Chains) != 2 {
			t.Errorf("%d chains", len(rules.Chains))
		}
		for _, prefix := range config.ExcludeDestinations {
			if prefix != prefix.Masked() || prefix.Addr().Zone() != "" {
				t.Errorf("destination %v", prefix)
			}
		}
	})
}
