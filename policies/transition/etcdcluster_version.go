package transition

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func etcdVersion() []Row {
	oneByOne := func(m *FieldChange) []string {
		for _, r := range readEtcd(m).refusals {
			if len(r.Path) == 0 {
				continue
			}
			var steps []string
			for _, v := range r.Path {
				steps = append(steps, "write spec.version: "+v.String()+" and wait until status.currentVersion is "+v.String())
			}
			return steps
		}
		return nil
	}
	minors := []string{"change one minor version at a time: write its newest patch, and wait until status.currentVersion is that version before the next"}
	patch := []string{"write a patch of 3.5 from 3.5.26 on, and wait until status.currentVersion is that version, between any older one and 3.6"}
	version := []string{"spec.version"}
	return []Row{
		{
			ID: "etcd-version-spelling", Paths: version, When: "the version is written with or without a v",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return sameVersion(text(m.From), text(m.To)) },
		},
		{
			ID: plan.RefuseVersionZombie, Paths: version, When: "either it or the version that a member runs is 3.5 before 3.5.26, and the other 3.6 or later",
			Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant, applies: refusedAs(plan.RefuseVersionZombie),
			Harm:  "before 3.5.26, removed members can reappear",
			Steps: patch, lead: oneByOne,
		},
		{
			ID: plan.RefuseVersionSkip, Paths: version, When: "a minor version is skipped from the oldest that a member runs, or, for an older version, from the newest",
			Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant, applies: refusedAs(plan.RefuseVersionSkip),
			Harm:  "members more than one minor version apart do not form a cluster, and etcd migrates the data's format one minor version at a time",
			Steps: minors, lead: oneByOne,
		},
		{
			ID: plan.RefuseVersionNone, Paths: version, When: "usher does not run the version, and the cluster runs",
			Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant, applies: refusedAs(plan.RefuseVersionNone),
			Harm:  "usher does not know a way to that version",
			Steps: []string{"write a version that usher runs: 3.5, 3.6 or 3.7"},
		},
		{
			ID: "etcd-version-downgrade", Paths: version, When: "the version is the previous minor of one that a member runs",
			Outcome: Rollout, applies: func(m *FieldChange) bool {
				to, _ := etcd.ParseVersion(text(m.To))
				return to.CompareMinor(readEtcd(m).seen.Newest()) < 0
			},
			Harm: "etcd converts the data, and members run the older version one at a time, the leader last: what only the newer version can do ends at once",
		},
		{
			ID: "etcd-version-take-back", Paths: version, When: "an upgrade that no member has completed is reverted",
			Outcome: Rollout, applies: func(m *FieldChange) bool {
				to, _ := etcd.ParseVersion(text(m.To))
				return compareVersions(text(m.To), text(m.From)) < 0 && to.Compare(readEtcd(m).seen.Newest()) >= 0
			},
			Harm: "gives the older version back to members that were told to run the newer one and never did",
		},
		{
			ID: "etcd-version-minor", Paths: version, When: "the version is the next minor",
			Outcome: Rollout, applies: func(m *FieldChange) bool {
				from, _ := etcd.ParseVersion(text(m.From))
				to, _ := etcd.ParseVersion(text(m.To))
				return to.Minor > from.Minor
			},
			Harm: "upgrades members one at a time, the leader last; etcd converts the data once all run the new minor version",
		},
		{
			ID: "etcd-version-patch", Paths: version, When: "the version is another patch",
			Outcome: Rollout, Harm: "upgrades members one at a time, the leader last",
		},
	}
}

func sameVersion(a, b string) bool { return compareVersions(a, b) == 0 }

// compareVersions treats an invalid version as older than all.
func compareVersions(a, b string) int {
	v, _ := etcd.ParseVersion(a)
	w, _ := etcd.ParseVersion(b)
	return v.Compare(w)
}

// refusedAs is the condition that the controller would refuse the change, too.
func refusedAs(row string) func(*FieldChange) bool {
	return func(m *FieldChange) bool {
		return slices.ContainsFunc(readEtcd(m).refusals, func(r plan.Refusal) bool { return r.Row == row })
	}
}

// An etcdMove is what conditions need to know about a change of an EtcdCluster.
type etcdMove struct {
	seen     plan.Observation
	will     v1beta2.ClusterSpec
	refusals []plan.Refusal
}

// readEtcd reads a change once.
func readEtcd(m *FieldChange) *etcdMove {
	_ = m.status() // decides whether the cluster is as its spec says
	if e, ok := (*m.read).(*etcdMove); ok {
		return e
	}
	e := &etcdMove{seen: seenEtcd(m.Old), will: etcdSpec(m.New)}
	e.refusals = plan.Refusals(&e.will, &e.seen)
	*m.read = e
	return e
}

// seenEtcd returns the cluster according to its status; for a manifest,
// according to its spec.
func seenEtcd(object map[string]any) plan.Observation {
	status, _ := object["status"].(map[string]any)
	if status["memberStatuses"] == nil && status["clusterID"] == nil && !complete(object) {
		spec := etcdSpec(object)
		return plan.Settled(textOr(lookup(object, "metadata", "name"), "member"), &spec)
	}
	var read v1beta2.ClusterStatus
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &read); err != nil {
		return plan.Observation{}
	}
	return plan.Observe(&read)
}

// etcdSpec decodes a spec; another finding reports what does not decode.
func etcdSpec(object map[string]any) v1beta2.ClusterSpec {
	var spec v1beta2.ClusterSpec
	if written, ok := object["spec"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written, &spec); err != nil {
			return v1beta2.ClusterSpec{}
		}
	}
	return spec
}

func planEtcd(m *FieldChange) *Plan {
	e := readEtcd(m)
	plan.AssumeExpansion(&e.will, &e.seen) // the StorageClass is in the cluster
	made := plan.Make(&e.will, &e.seen)
	p := &Plan{Blocked: made.Message}
	for _, s := range made.Steps {
		p.Steps = append(p.Steps, PlannedStep{Step: s.String(), Margin: s.Margin, Meanwhile: s.Meanwhile})
	}
	return p
}
