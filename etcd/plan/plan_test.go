package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// spec returns a cluster of three at 3.6, with the changes of edit.
func spec(edits ...func(*v1beta2.ClusterSpec)) *v1beta2.ClusterSpec {
	s := &v1beta2.ClusterSpec{Size: 3, Version: "3.6.16", Pod: &v1beta2.PodPolicy{}}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func size(n int) func(*v1beta2.ClusterSpec) { return func(s *v1beta2.ClusterSpec) { s.Size = n } }
func version(v string) func(*v1beta2.ClusterSpec) {
	return func(s *v1beta2.ClusterSpec) { s.Version = v }
}
func claims(storage string) func(*v1beta2.ClusterSpec) {
	return func(s *v1beta2.ClusterSpec) {
		s.Pod.PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse(storage)}},
		}
	}
}
func digest(version, digest string) func(*v1beta2.ClusterSpec) {
	return func(s *v1beta2.ClusterSpec) {
		s.ImageDigests = map[string]v1beta2.ImageDigest{version: v1beta2.ImageDigest(digest)}
	}
}
func labelled(s *v1beta2.ClusterSpec) { s.Pod.Labels = map[string]string{"team": "a"} }
func paused(s *v1beta2.ClusterSpec)   { s.Paused = true }
func encrypted(s *v1beta2.ClusterSpec) {
	s.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "client"}}
}

func member(n int, edit func(*plan.Member)) func(*plan.Observation) {
	return func(o *plan.Observation) { edit(&o.Members[n-1]) }
}
func down(m *plan.Member) {
	m.Answers, m.Leader, m.Pod.Ready = false, false, false
	m.Unresponsive = &plan.Unresponsive{According: plan.Client | plan.Kubelet}
}
func lost(m *plan.Member) { down(m); m.DataGone, m.Pod.Exists = true, false }

func TestPlans(t *testing.T) {
	tests := map[string]struct {
		from, to *v1beta2.ClusterSpec
		seen     []func(*plan.Observation)
		steps    []string
		blocked  plan.Block
		message  string
	}{
		"nothing to do": {from: spec(), to: spec()},
		"a cluster from nothing": {
			from: nil, to: spec(),
			steps: []string{
				"form the cluster with (new 1) at 3.6.16 [0, -1 meanwhile]",
				"add (new 2) at 3.6.16 as a learner: 1 of 3 members vote [0]",
				"wait until (new 2) has caught up [0]",
				"let (new 2) vote [0]",
				"add (new 3) at 3.6.16 as a learner: 2 of 3 members vote [0]",
				"wait until (new 3) has caught up [0]",
				"let (new 3) vote [1, 0 meanwhile]",
			},
		},
		"a cluster of a version that is not run": {
			from: nil, to: spec(version("3.2.13")),
			blocked: plan.UnsupportedVersion, message: "spec.version is 3.2.13, which usher does not run: write 3.5.35",
		},
		"a smaller cluster loses the newest": {
			from: spec(size(5)), to: spec(),
			steps: []string{
				"remove c-5: 5 members vote, and spec.size is 3 [1]",
				"remove c-4: 4 members vote, and spec.size is 3 [1]",
			},
		},
		"a smaller cluster loses who does not answer first": {
			from: spec(size(5)), to: spec(), seen: []func(*plan.Observation){member(2, down)},
			steps: []string{
				"remove c-2: it does not answer, and the cluster has one member too many [1]",
				"remove c-5: 4 members vote, and spec.size is 3 [1]",
			},
		},
		"the leader last, and its leadership moved": {
			from: spec(), to: spec(version("3.7.3")),
			steps: []string{
				"have c-2 run 3.7.3 [1, 0 meanwhile]",
				"have c-3 run 3.7.3 [1, 0 meanwhile]",
				"move the leadership to c-2: c-1 leads, and is next [1]",
				"have c-1 run 3.7.3 [1, 0 meanwhile]",
				"wait until the cluster version is 3.7 [1]",
			},
		},
		"growth before an upgrade": {
			from: spec(size(1)), to: spec(size(2), version("3.7.3")),
			steps: []string{
				"add (new 1) at 3.6.16 as a learner: 1 of 2 members vote [0]",
				"wait until (new 1) has caught up [0]",
				"let (new 1) vote [0]",
				"have (new 1) run 3.7.3 [0, -1 meanwhile]",
				"move the leadership to (new 1): c-1 leads, and is next [0]",
				"have c-1 run 3.7.3 [0, -1 meanwhile]",
				"wait until the cluster version is 3.7 [0]",
			},
		},
		"an upgrade after one that has not come to rest": {
			from: spec(size(1)), to: spec(size(1), version("3.7.3")),
			seen: []func(*plan.Observation){func(o *plan.Observation) { o.StorageVersion = etcd.Version{Major: 3, Minor: 5} }},
			steps: []string{
				"wait until the cluster version is 3.6: the previous upgrade has not finished [0]",
				"have c-1 run 3.7.3 [0, -1 meanwhile]",
				"wait until the cluster version is 3.7 [0]",
			},
		},
		"a version that does not start is taken back": {
			from: spec(), to: spec(),
			seen: []func(*plan.Observation){member(3, func(m *plan.Member) { down(m); m.Target = etcd.Version{Major: 3, Minor: 6, Patch: 99} })},
			steps: []string{
				"have c-3 run 3.6.16: it does not answer, and was told to run 3.6.99 [1, 0 meanwhile]",
			},
		},
		"pods on claims are recreated": {
			from: spec(claims("1Gi")), to: spec(claims("1Gi"), labelled),
			steps: []string{
				"recreate the pod of c-2 on its claim: its pod does not match the spec [1, 0 meanwhile]",
				"recreate the pod of c-3 on its claim: its pod does not match the spec [1, 0 meanwhile]",
				"move the leadership to c-2: c-1 leads, and is next [1]",
				"recreate the pod of c-1 on its claim: its pod does not match the spec [1, 0 meanwhile]",
			},
		},
		"members without claims are replaced, never restarted": {
			from: spec(size(1)), to: spec(size(1), labelled),
			steps: []string{
				"add (new 1) at 3.6.16 as a learner: to replace c-1, which does not match the spec [0]",
				"wait until (new 1) has caught up [0]",
				"let (new 1) vote [0]",
				"move the leadership to (new 1): c-1 leads, and is next [0]",
				"remove c-1: a member from the current spec replaces it [0]",
			},
		},
		"a dead member is removed, then replaced": {
			from: spec(), to: spec(), seen: []func(*plan.Observation){member(1, lost), member(2, func(m *plan.Member) { m.Leader = true })},
			steps: []string{
				"remove c-1: its data is lost; the others have a copy [0]",
				"add (new 1) at 3.6.16 as a learner: 2 of 3 members vote [0]",
				"wait until (new 1) has caught up [0]",
				"let (new 1) vote [1, 0 meanwhile]",
			},
		},
		"all members down, with their data": {
			from: spec(), to: spec(), seen: []func(*plan.Observation){member(1, down), member(2, down), member(3, down)},
			steps: []string{
				"restart c-1 on its data [-1, -2 meanwhile]",
				"restart c-2 on its data [0, -1 meanwhile]",
				"restart c-3 on its data [1, 0 meanwhile]",
			},
		},
		"quorum lost: nothing is removed, who can come back is brought back": {
			from: spec(), to: spec(size(1)), seen: []func(*plan.Observation){member(1, lost), member(2, lost), member(3, down)},
			steps:   []string{"restart c-3 on its data [-1, -2 meanwhile]"},
			blocked: plan.QuorumLost,
			message: "2 of 3 voting members have lost their data, and the remaining 1 are fewer than the quorum of 2: usher removes nothing; restore a backup",
		},
		"an upgrade by digest": {
			from: spec(claims("1Gi"), digest("3.6.16", "a")), to: spec(claims("1Gi"), version("3.7.3"), digest("3.7.3", "b")),
			steps: []string{
				"have c-2 run 3.7.3 [1, 0 meanwhile]",
				"have c-3 run 3.7.3 [1, 0 meanwhile]",
				"move the leadership to c-2: c-1 leads, and is next [1]",
				"have c-1 run 3.7.3 [1, 0 meanwhile]",
				"wait until the cluster version is 3.7 [1]",
			},
		},
		"another digest of the same version": {
			from: spec(size(1), claims("1Gi"), digest("3.6.16", "a")), to: spec(size(1), claims("1Gi"), digest("3.6.16", "b")),
			steps: []string{"recreate the pod of c-1 on its claim: its pod does not match the spec [0, -1 meanwhile]"},
		},
		"a digest of a version that nothing runs": {from: spec(claims("1Gi")), to: spec(claims("1Gi"), digest("3.7.3", "b"))},
		"paused": {from: spec(), to: spec(size(5), paused), blocked: plan.Paused, message: "spec.paused is true: usher does not change the cluster"},
		"a skipped minor that slipped past leaves the version, not the rest": {
			from: spec(version("3.5.35"), size(1)), to: spec(version("3.7.3"), size(2)),
			steps: []string{
				"add (new 1) at 3.5.35 as a learner: 1 of 2 members vote [0]",
				"wait until (new 1) has caught up [0]",
				"let (new 1) vote [0]",
			},
			blocked: plan.RefusedChange,
			message: "spec.version is 3.7.3, and a member runs 3.5.35: change every member one minor version at a time; the path is 3.5.35 → 3.6.16 → 3.7.3",
		},
		"TLS turned on behind usher's back changes nothing": {
			from: spec(), to: spec(encrypted, size(5)),
			blocked: plan.RefusedChange,
			message: "spec.TLS asks for encryption of the traffic of clients, and the members encrypt no traffic: members that use http and those that use https cannot reach each other",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var seen plan.Observation
			if tc.from != nil {
				seen = plan.Settled("c", tc.from)
			}
			for _, edit := range tc.seen {
				edit(&seen)
			}
			p := plan.Make(tc.to, &seen)
			if diff := cmp.Diff(tc.steps, withMargins(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if p.Blocked != tc.blocked || p.Message != tc.message {
				t.Errorf("blocked %q: %q", p.Blocked, p.Message)
			}
		})
	}
}

// withMargins returns the steps of a plan, with how many members may fail after each,
// and meanwhile.
func withMargins(p plan.Plan) []string {
	var steps []string
	for _, s := range p.Steps {
		text := fmt.Sprintf("%s [%d]", s, s.Margin)
		if s.Meanwhile != s.Margin {
			text = fmt.Sprintf("%s [%d, %d meanwhile]", s, s.Margin, s.Meanwhile)
		}
		steps = append(steps, text)
	}
	return steps
}
