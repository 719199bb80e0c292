package subnet

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestThePartsOfAPoolFillItAndDoNotOverlap(t *testing.T) {
	tests := map[string]struct {
		cidr        string
		length      int
		parts       int
		first, last string
		gateway     string
	}{
		"IPv4":                {"10.128.0.0/12", 24, 4096, "10.128.0.0/24", "10.143.255.0/24", "10.143.255.1"},
		"with host bits":      {"10.128.1.1/22", 24, 4, "10.128.0.0/24", "10.128.3.0/24", "10.128.3.1"},
		"off a byte's border": {"192.168.64.0/18", 29, 2048, "192.168.64.0/29", "192.168.127.248/29", "192.168.127.249"},
		"one part":            {"10.0.0.0/24", 24, 1, "10.0.0.0/24", "10.0.0.0/24", "10.0.0.1"},
		"IPv6":                {"fd00::/56", 64, 256, "fd00::/64", "fd00:0:0:ff::/64", "fd00:0:0:ff::1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pool, err := ParsePool(tc.cidr, tc.length)
			if err != nil {
				t.Fatal(err)
			}
			if pool.Len() != tc.parts {
				t.Fatalf("%d parts, want %d", pool.Len(), tc.parts)
			}
			whole, _ := ParseCIDR(tc.cidr)
			for i := range pool.Len() {
				part := pool.Part(i)
				if !whole.Contains(part.Prefix.Addr()) || part.Prefix != part.Prefix.Masked() || i > 0 && part.Prefix.Overlaps(pool.Part(i-1).Prefix) {
					t.Fatalf("part %d is %s", i, part.Prefix)
				}
				if _, err := Parse(part.Prefix.String(), part.GatewayText()); err != nil {
					t.Fatal(err)
				}
			}
			last := pool.Part(pool.Len() - 1)
			if pool.Part(0).Prefix.String() != tc.first || last.Prefix.String() != tc.last || last.GatewayText() != tc.gateway {
				t.Errorf("from %s to %s, gateway %s", pool.Part(0).Prefix, last.Prefix, last.GatewayText())
			}
		})
	}
}

func TestAPoolThatCannotBeGivenOutIsRefused(t *testing.T) {
	tests := map[string]struct {
		cidr   string
		length int
		want   string
	}{
		"no range":             {"", 24, "cidr is not set"},
		"no length":            {"10.0.0.0/16", 0, "prefixLength is 0"},
		"parts larger than it": {"10.0.0.0/16", 15, "from 16 to 30"},
		"parts too small":      {"10.0.0.0/24", 31, "from 24 to 30"},
		"too many parts":       {"fd00::/48", 65, "from 48 to 64"},
		"a range of no use":    {"127.0.0.0/8", 24, "loopback"},
		"a negative length":    {"10.0.0.0/8", -1, "prefixLength is -1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ParsePool(tc.cidr, tc.length); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestOverlapping(t *testing.T) {
	for _, cidr := range []string{"10.128.0.0/20", "fd00::/56"} {
		length := 24
		if strings.Contains(cidr, ":") {
			length = 60
		}
		pool, err := ParsePool(cidr, length)
		if err != nil {
			t.Fatal(err)
		}
		for _, texts := range [][]string{
			{}, {"10.128.3.0/24"}, {"10.128.2.128/25", "10.128.15.4/30"}, {"10.128.4.0/22"}, {"10.128.0.0/20"}, {"10.0.0.0/8"}, {"10.129.0.0/24", "192.168.0.0/16"},
			{"fd00::/64", "fd00:0:0:f0::/60"}, {"fd00::/16"}, {"fd00:0:0:40::/58"},
		} {
			var ranges []netip.Prefix
			for _, text := range texts {
				ranges = append(ranges, netip.MustParsePrefix(text))
			}
			for i := range pool.Len() {
				part := pool.Part(i).Prefix
				taken := slices.ContainsFunc(ranges, func(r netip.Prefix) bool {
					first, end := pool.Overlapping(r)
					return first <= i && i < end
				})
				if want := slices.ContainsFunc(ranges, part.Overlaps); taken != want {
					t.Errorf("of %s, %s is taken by %v: %t, want %t", pool, part, texts, taken, want)
				}
				if !pool.Has(part) {
					t.Errorf("%s is not a part of %s", part, pool)
				}
			}
		}
	}
}
