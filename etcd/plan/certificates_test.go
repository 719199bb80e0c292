package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// given returns certificates of an issuer, for both kinds of traffic.
func given(issuer string, cas ...string) v1beta2.MemberCertificates {
	t := func() *v1beta2.Trust { return &v1beta2.Trust{CAs: cas, Issuer: issuer} }
	return v1beta2.MemberCertificates{Peer: t(), Server: t()}
}

func TestCertificatesFor_EachStateOfAChange(t *testing.T) {
	none := v1beta2.MemberCertificates{}
	tests := map[string]struct {
		wanted, current v1beta2.MemberCertificates
		members         []v1beta2.MemberCertificates
		step            plan.CertificateStep
		want            []v1beta2.MemberCertificates
	}{
		"no certificates": {
			members: []v1beta2.MemberCertificates{none, none}, want: []v1beta2.MemberCertificates{none, none},
		},
		"pods of the previous release": {
			wanted: given("a", "a"), current: given("a", "a"), members: []v1beta2.MemberCertificates{none, none},
			want: []v1beta2.MemberCertificates{given("a", "a"), given("a", "a")},
		},
		"a new CA": {
			wanted: given("b", "b"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("a", "a"), none},
			step: plan.TrustBoth, want: []v1beta2.MemberCertificates{given("a", "b", "a"), given("a", "b", "a")},
		},
		"one member trusts both": {
			wanted: given("b", "b"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("a", "b", "a"), none},
			step: plan.TrustBoth, want: []v1beta2.MemberCertificates{given("a", "b", "a"), given("a", "b", "a")},
		},
		"all trust both": {
			wanted: given("b", "b"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("a", "b", "a"), given("a", "b", "a")},
			step: plan.SwitchIssuer, want: []v1beta2.MemberCertificates{given("b", "b", "a"), given("b", "b", "a")},
		},
		"one has switched": {
			wanted: given("b", "b"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("b", "b", "a"), given("a", "b", "a")},
			step: plan.SwitchIssuer, want: []v1beta2.MemberCertificates{given("b", "b", "a"), given("b", "b", "a")},
		},
		"all have switched": {
			wanted: given("b", "b"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("b", "b", "a"), given("b", "b", "a")},
			step: plan.TrustWanted, want: []v1beta2.MemberCertificates{given("b", "b"), given("b", "b")},
		},
		"a third CA while some have switched": {
			wanted: given("c", "c"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("b", "b", "a"), given("a", "b", "a")},
			step: plan.TrustBoth, want: []v1beta2.MemberCertificates{given("b", "c", "b", "a"), given("a", "c", "b", "a")},
		},
		"the first CA again while some have switched": {
			wanted: given("a", "a"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("b", "b", "a"), given("a", "b", "a")},
			step: plan.SwitchIssuer, want: []v1beta2.MemberCertificates{given("a", "a", "b"), given("a", "a", "b")},
		},
		"another CA is trusted in addition": {
			wanted: given("a", "a", "b"), current: given("a", "a"), members: []v1beta2.MemberCertificates{given("a", "a"), none},
			step: plan.TrustWanted, want: []v1beta2.MemberCertificates{given("a", "a", "b"), given("a", "a", "b")},
		},
		"a certificate of a CA that is trusted": {
			wanted: given("b", "a", "b"), current: given("a", "a", "b"), members: []v1beta2.MemberCertificates{given("a", "a", "b"), none},
			step: plan.TrustWanted, want: []v1beta2.MemberCertificates{given("b", "a", "b"), given("b", "a", "b")},
		},
		"the CA of clients only": {
			wanted: given("s", "b"), current: given("s", "a"), members: []v1beta2.MemberCertificates{given("s", "a"), given("s", "b", "a")},
			step: plan.TrustBoth, want: []v1beta2.MemberCertificates{given("s", "b", "a"), given("s", "b", "a")},
		},
		"invalid Secrets in the middle": {
			current: given("a", "a"), members: []v1beta2.MemberCertificates{given("a", "b", "a"), none},
			want: []v1beta2.MemberCertificates{given("a", "b", "a"), given("a", "a")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := &plan.Observation{Certificates: plan.Certificates{Wanted: test.wanted, Current: test.current}}
			for i, has := range test.members {
				m := plan.Member{Name: fmt.Sprint(i), Listed: true, Certificates: has}
				m.Pod.Exists = true
				o.Members = append(o.Members, m)
			}
			if got := o.CertificateStep(); got != test.step {
				t.Errorf("the step is %q, want %q", got, test.step)
			}
			for i := range o.Members {
				if got := o.CertificatesFor(&o.Members[i]); !cmp.Equal(sorted(got), sorted(test.want[i])) {
					t.Errorf("member %d: %s", i, cmp.Diff(sorted(test.want[i]), sorted(got)))
				}
			}
		})
	}
}

func sorted(c v1beta2.MemberCertificates) v1beta2.MemberCertificates {
	c = *c.DeepCopy()
	for _, t := range []*v1beta2.Trust{c.Peer, c.Server} {
		if t != nil {
			slices.Sort(t.CAs)
		}
	}
	return c
}

// TestNext_AMemberThatTheOthersRefuse_IsRestarted once it has taken no part for the
// member timeout, but not if it already has what it should have.
func TestNext_AMemberThatTheOthersRefuse_IsRestarted(t *testing.T) {
	spec := states.Of([][]states.Variant{{states.Size(3)}, {states.Version("3.6.16")}, {states.Claims("1Gi")}})[0].Spec
	for name, test := range map[string]struct {
		has     v1beta2.MemberCertificates
		since   time.Duration
		heard   bool
		restart bool
	}{
		"it mounts the user's Secrets": {v1beta2.MemberCertificates{}, memberTimeout, false, true},
		"one of the others accepts it": {v1beta2.MemberCertificates{}, memberTimeout, true, true},
		"not for long enough":          {v1beta2.MemberCertificates{}, memberTimeout - 1, false, false},
		"it trusts both":               {given("a", "a", "b"), memberTimeout, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("example", spec)
			o.Now, o.Limits = time.Now(), plan.Limits{MemberTimeout: memberTimeout}
			o.Certificates = plan.Certificates{Wanted: given("b", "b"), Current: given("a", "a")}
			m := &o.Members[1]
			m.Answers, m.Leaderless, m.Pod.Ready, m.Certificates = false, true, false, test.has
			m.PeersReach = test.heard
			m.Unresponsive = &plan.Unresponsive{Since: o.Now.Add(-test.since), According: plan.Client | plan.Kubelet}
			p := plan.Next(spec, &o)
			if got := p.Now(); got == nil || got.Member != m.Name || (got.Action == plan.Restart) != test.restart {
				t.Errorf("the step is %v", got)
			}
		})
	}
}

// TestCertificatesFor_AMemberWithoutAPod_GetsWhatTheOthersTrust also if its own
// record is older.
func TestCertificatesFor_AMemberWithoutAPod_GetsWhatTheOthersTrust(t *testing.T) {
	o := &plan.Observation{Certificates: plan.Certificates{Wanted: given("c", "c"), Current: given("a", "a")}}
	runs := plan.Member{Name: "runs", Listed: true, Certificates: given("b", "b")}
	runs.Pod.Exists = true
	o.Members = []plan.Member{{Name: "gone", Listed: true, Certificates: given("a", "a")}, runs}
	if got := o.CertificatesFor(&o.Members[0]); !cmp.Equal(sorted(got), sorted(given("b", "b", "c"))) {
		t.Error(cmp.Diff(sorted(given("b", "b", "c")), sorted(got)))
	}
}
