package redirect

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// exhaustive contains every match.
var exhaustive = Config{
	InboundPort: inboundPort, OutboundPort: outboundPort,
	ProxyUIDs: []uint32{0, proxyUID}, ProxyGIDs: []uint32{proxyGID, 1<<32 - 2},
	ExcludeInbound:  []PortRange{{1, 1}, {15020, 15021}},
	ExcludeOutbound: []PortRange{{5432, 5432}, {60000, 65535}},
	ExcludeDestinations: []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("169.254.169.254/32"), netip.MustParsePrefix("128.0.0.0/1"),
		netip.MustParsePrefix("::/0"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("2001:db8:8000::/33"),
		netip.MustParsePrefix("fd00:ec2::254/128"),
	},
}

// load reads the rules in force in the namespace; nil means none.
func (n *namespace) load(t *testing.T) *Ruleset {
	t.Helper()
	var rules Ruleset
	var ok bool
	n.run(t, func() (err error) {
		rules, ok, err = Load()
		return err
	})
	if !ok {
		return nil
	}
	return &rules
}

func equal(want Ruleset, got *Ruleset) string {
	return cmp.Diff(&want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Transformer("Destination", func(d Destination) netip.Prefix { return netip.Prefix(d) }))
}

func TestApplyingTwiceIsApplyingOnce(t *testing.T) {
	n := newNamespace(t)
	for _, config := range []Config{everything, everything, exhaustive, exhaustive, {InboundPort: inboundPort}} {
		n.apply(t, config)
		if diff := equal(Plan(config), n.load(t)); diff != "" {
			t.Errorf("in force (-want +got):\n%s", diff)
		}
	}
}

func TestRemove(t *testing.T) {
	n := newNamespace(t)
	remove := func() (ok bool) {
		n.run(t, func() (err error) {
			ok, err = Remove()
			return err
		})
		return ok
	}
	if remove() {
		t.Error("something was removed where nothing was set")
	}
	n.apply(t, everything)
	if !remove() {
		t.Error("nothing was removed")
	}
	if rules := n.load(t); rules != nil {
		t.Errorf("left in force:\n%s", rules)
	}
	if remove() {
		t.Error("something was removed twice")
	}
}

func TestOtherTablesAreLeftAlone(t *testing.T) {
	n := newNamespace(t)
	tables := func() (names []string) {
		n.run(t, func() error {
			conn, err := nftables.New()
			if err != nil {
				return err
			}
			all, err := conn.ListTables()
			for _, table := range all {
				names = append(names, fmt.Sprint(table.Family, " ", table.Name))
			}
			return err
		})
		return names
	}
	n.run(t, func() error {
		conn, err := nftables.New()
		if err != nil {
			return err
		}
		conn.AddTable(&nftables.Table{Name: "other", Family: nftables.TableFamilyINet})
		conn.AddTable(&nftables.Table{Name: Table, Family: nftables.TableFamilyIPv4})
		return conn.Flush()
	})
	before := tables()
	n.apply(t, everything)
	n.apply(t, everything)
	n.run(t, func() error {
		_, err := Remove()
		return err
	})
	if diff := cmp.Diff(before, tables()); diff != "" {
		t.Errorf("tables (-before +after):\n%s", diff)
	}
}

func TestLongestListsAreApplied(t *testing.T) {
	n := newNamespace(t)
	config := Config{InboundPort: inboundPort, OutboundPort: outboundPort}
	for i := range uint16(maxEntries) {
		config.ProxyUIDs = append(config.ProxyUIDs, uint32(i))
		config.ProxyGIDs = append(config.ProxyGIDs, uint32(i))
		config.ExcludeInbound = append(config.ExcludeInbound, PortRange{2*i + 1, 2*i + 2})
		config.ExcludeOutbound = append(config.ExcludeOutbound, PortRange{2*i + 1, 2*i + 2})
		addr := netip.AddrFrom16([16]byte{0xfd, byte(i)})
		config.ExcludeDestinations = append(config.ExcludeDestinations, netip.PrefixFrom(addr, 64))
	}
	for range 2 {
		n.apply(t, config)
		if diff := equal(Plan(config), n.load(t)); diff != "" {
			t.Errorf("in force (-want +got):\n%s", diff)
		}
	}
}

func TestRulesOfOthersAreShownAsSuch(t *testing.T) {
	n := newNamespace(t)
	n.apply(t, Config{InboundPort: inboundPort})
	n.run(t, func() error {
		conn, err := nftables.New()
		if err != nil {
			return err
		}
		table := &nftables.Table{Name: Table, Family: nftables.TableFamilyINet}
		chain := &nftables.Chain{Name: "inbound", Table: table}
		for _, exprs := range [][]expr.Any{
			{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictAccept}},
			{&expr.Verdict{Kind: expr.VerdictReturn}},
			append([]expr.Any{&expr.Counter{}}, append(tcp(), &expr.Verdict{Kind: expr.VerdictReturn})...),
			append(meta(expr.MetaKeyOIFNAME, append([]byte("eth0"), make([]byte, 12)...)), &expr.Verdict{Kind: expr.VerdictReturn}),
		} {
			conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: exprs, UserData: []byte{0, 255, 1}})
		}
		conn.AddChain(&nftables.Chain{Name: "other", Table: table})
		return conn.Flush()
	})
	want := Plan(Config{InboundPort: inboundPort})
	for range 4 {
		want.Chains[0].Rules = append(want.Chains[0].Rules, Rule{Match: NotOwned{}})
	}
	want.Chains = append(want.Chains, Chain{Name: "other"})
	if diff := equal(want, n.load(t)); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}
	n.apply(t, Config{InboundPort: inboundPort})
	if diff := equal(Plan(Config{InboundPort: inboundPort}), n.load(t)); diff != "" {
		t.Errorf("after applying again (-want +got):\n%s", diff)
	}
}

func TestWithoutTheCapabilityTheRemedyIsNamed(t *testing.T) {
	n := newNamespace(t)
	tests := map[string]struct {
		uid  uint32
		want string
	}{
		"root": {0, "listing tables: netlink receive: operation not permitted: " +
			"add `capabilities: {add: [NET_ADMIN]}` to the securityContext of the init container"},
		"another user": {someUID, "listing tables: netlink receive: operation not permitted: " +
			"add `capabilities: {add: [NET_ADMIN]}` to the securityContext of the init container, " +
			"and `runAsUser: 0` (it runs as 4242, and Kubernetes gives added capabilities only to root)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, partPowerless, tc.uid, 0)
			var out strings.Builder
			cmd.Stdout = &out
			n.run(t, cmd.Run)
			if diff := cmp.Diff(tc.want+"\n"+tc.want+"\n", out.String()); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExplainNamesWhatTheKernelLacks(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"no nf_tables": {unix.EOPNOTSUPP, "module nf_tables"},
		"no netlink":   {unix.EPROTONOSUPPORT, "module nf_tables"},
		"no inet":      {unix.EAFNOSUPPORT, "module nf_tables"},
		"no redirect":  {unix.ENOENT, "modules nft_chain_nat, nft_redir and nft_fib_inet"},
		"no answer":    {os.ErrDeadlineExceeded, "did not answer within 10s"},
		"another":      {unix.ENOBUFS, "setting the rules: no buffer space available"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := explain("setting the rules", tc.err)
			if !errors.Is(got, tc.err) || !strings.Contains(got.Error(), tc.want) {
				t.Errorf("got %q, want it to hold %q", got, tc.want)
			}
		})
	}
}

func TestCommentOfMalformedUserData(t *testing.T) {
	good := userdata.AppendString(nil, userdata.TypeComment, "c")
	tests := map[string]struct {
		data []byte
		want string
	}{
		"none":                      {nil, ""},
		"a comment":                 {good, "c"},
		"something before it":       {append([]byte{7, 1, 0}, good...), "c"},
		"length beyond the end":     {[]byte{0, 9, 'c'}, ""},
		"a type without length":     {[]byte{0}, ""},
		"garbage behind the length": {append(good, 0, 4), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := comment(tc.data); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
