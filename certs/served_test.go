package certs

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestTheExpiryOfBothCertificatesIsMeasured(t *testing.T) {
	ca := authorityAt(t, begin)
	pair, err := ca.issue([]string{"usher"}, begin, 30*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	f := &Files{}
	collector := NewMetrics(f, clocktesting.NewFakePassiveClock(begin.Add(time.Hour)))
	if n := testutil.CollectAndCount(collector); n != 0 {
		t.Errorf("%d metrics without a certificate", n)
	}
	f.publish(pair, certificates{ca.cert}, "stable", begin)
	want := `# HELP usher_certificate_expiry_seconds Seconds until the serving certificate and its CA expire.
# TYPE usher_certificate_expiry_seconds gauge
usher_certificate_expiry_seconds{what="ca"} 320400
usher_certificate_expiry_seconds{what="serving"} 104400
`
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestTheBundleInheritsWhatWasRegisteredForAWhile(t *testing.T) {
	a, b := authorityAt(t, begin), authorityAt(t, begin)
	pair, err := b.issue([]string{"usher"}, begin, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var s served
	s.inherit(certificates{a.cert}, begin.Add(time.Hour))
	for _, look := range []struct {
		name    string
		after   time.Duration
		bundle  certificates
		changed bool
	}{
		{"the first bundle", 0, certificates{b.cert, a.cert}, true},
		{"the same again", time.Minute, certificates{b.cert, a.cert}, false},
		{"the heritage is over", time.Hour, certificates{b.cert}, true},
	} {
		changed := s.Changed()
		s.publish(pair, certificates{b.cert}, "stable", begin.Add(look.after))
		if diff := cmp.Diff(string(Encode(look.bundle)), string(s.Bundle())); diff != "" {
			t.Errorf("%s: bundle (-want +got):\n%s", look.name, diff)
		}
		told := false
		select {
		case <-changed:
			told = true
		default:
		}
		if told != look.changed {
			t.Errorf("%s: told as a change: %t, want %t", look.name, told, look.changed)
		}
	}
}

func TestLifetimesThatLeaveNoTimeForAChangeAreRefused(t *testing.T) {
	tests := map[string]struct {
		lifetimes Lifetimes
		want      string
	}{
		"the defaults":        {DefaultLifetimes(), ""},
		"the longest allowed": {Lifetimes{CA: 9 * time.Hour, Serving: 3 * time.Hour, Overlap: time.Hour}, ""},
		"zero":                {Lifetimes{}, "lifetimes of CA 0s, certificate 0s and overlap 0s: each must be above zero"},
		"a long certificate": {
			Lifetimes{CA: 9 * time.Hour, Serving: 4 * time.Hour, Overlap: time.Hour},
			"certificate lifetime 4h0m0s: must be at most a third of the CA's, 9h0m0s",
		},
		"a long overlap": {
			Lifetimes{CA: 9 * time.Hour, Serving: time.Hour, Overlap: 2 * time.Hour},
			"CA overlap 2h0m0s: must be at most a ninth of the CA's lifetime, 9h0m0s: two of them must fit into its last third",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := test.lifetimes.Validate(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
