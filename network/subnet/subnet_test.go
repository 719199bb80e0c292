package subnet

import (
	"net/netip"
	"strings"
	"testing"
)

func TestSpellingsOfOneRangeAreOne(t *testing.T) {
	for _, text := range []string{"192.168.0.0/16", "192.168.1.0/16", "192.168.255.255/16"} {
		got, err := ParseCIDR(text)
		if want := netip.MustParsePrefix("192.168.0.0/16"); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", text, got, err, want)
		}
		if got, want := HostBits(text), text != "192.168.0.0/16"; got != want {
			t.Errorf("%s has host bits: %t, want %t", text, got, want)
		}
	}
}

func TestTheLastAddressOfARange(t *testing.T) {
	for prefix, want := range map[string]string{
		"10.0.0.0/8": "10.255.255.255", "192.168.0.0/23": "192.168.1.255", "10.0.0.4/30": "10.0.0.7", "fd00::/64": "fd00::ffff:ffff:ffff:ffff",
	} {
		if got := Last(netip.MustParsePrefix(prefix)); got.String() != want {
			t.Errorf("the last address of %s is %s, want %s", prefix, got, want)
		}
	}
}

func TestErrorsNameTheField(t *testing.T) {
	for _, tc := range []struct{ cidr, gateway, want string }{
		{"", "", "cidr is not set: write a range"},
		{strings.Repeat("1", 5000), "", "cidr is \"111"},
		{"10.0.0.0/24", "10.1.0.1", "gateway is \"10.1.0.1\", outside of 10.0.0.0/24"},
	} {
		if _, err := Parse(tc.cidr, tc.gateway); err == nil || !strings.HasPrefix(err.Error(), tc.want) || len(err.Error()) > 300 {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

// FuzzParse checks that parsed values are valid: a range with enough room, and
// a gateway in it.
func FuzzParse(f *testing.F) {
	for _, s := range [][2]string{{"192.168.1.0/16", "192.168.1.1"}, {"fd00::/64", "fd00::1"}, {"::ffff:10.0.0.0/112", ""}, {"10.0.0.0/30", "10.0.0.3"}, {"fe80::1%a/64", "%"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, cidr, gateway string) {
		s, err := Parse(cidr, gateway)
		if err != nil {
			return
		}
		if s.Prefix != s.Prefix.Masked() || s.Prefix.Addr().BitLen()-s.Prefix.Bits() < 2 {
			t.Errorf("%q is %s", cidr, s.Prefix)
		}
		if s.Gateway.IsValid() && (!s.Prefix.Contains(s.Gateway) || s.Gateway == s.Prefix.Addr()) {
			t.Errorf("%q of %s is %s", gateway, s.Prefix, s.Gateway)
		}
		again, err := Parse(s.Prefix.String(), s.GatewayText())
		if err != nil || again != s {
			t.Errorf("%+v is read again as %+v: %v", s, again, err)
		}
	})
}
