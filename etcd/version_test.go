package etcd_test

import (
	"testing"

	"github.com/usher-dev/usher/etcd"
)

func TestVersionsLeadToOthersOneMinorAtATime(t *testing.T) {
	tests := []struct{ from, to, want string }{
		{"3.5.35", "3.6.16", "3.5.35 → 3.6.16"},
		{"3.5.20", "3.6.16", "3.5.20 → 3.5.35 → 3.6.16"},
		{"3.5.20", "3.5.26", "3.5.20 → 3.5.26"},
		{"3.5.26", "3.7.1", "3.5.26 → 3.6.16 → 3.7.1"},
		{"3.5.0", "3.7.3", "3.5.0 → 3.5.35 → 3.6.16 → 3.7.3"},
		{"3.6.16", "3.6.15", "3.6.16 → 3.6.15"},
		{"3.6.16", "3.5.35", "3.6.16 → 3.5.35"},
		{"3.7.3", "3.6.1", "3.7.3 → 3.6.1"},
		{"3.7.3", "3.5.26", "3.7.3 → 3.6.16 → 3.5.26"},
		{"3.7.3", "3.5.20", "3.7.3 → 3.6.16 → 3.5.35 → 3.5.20"},
		{"3.5.35", "3.4.1", "3.5.35"},
		{"3.7.3", "3.8.0", "3.7.3"},
		{"3.4.1", "3.5.35", "3.4.1"},
	}
	for _, tc := range tests {
		from, to := parse(t, tc.from), parse(t, tc.to)
		if got := etcd.Versions(from, etcd.Path(from, to)); got != tc.want {
			t.Errorf("%s to %s: %s, want %s", from, to, got, tc.want)
		}
	}
}

func parse(t *testing.T, s string) etcd.Version {
	t.Helper()
	v, err := etcd.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseVersion_InvalidVersion(t *testing.T) {
	for _, s := range []string{"", "v", "3", "3.6", "3.6.x", "3.6.16-rc.0", "03.6.1", "3.6.1.2", "-3.6.1", "3.6.99999999999", "latest", "vv3.6.1", "0.0.0"} {
		if v, err := etcd.ParseVersion(s); err == nil {
			t.Errorf("%q is read as %s", s, v)
		}
	}
	if v := parse(t, "v3.6.16"); v.String() != "3.6.16" {
		t.Errorf("a leading v stays: %s", v)
	}
}
