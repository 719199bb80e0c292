package plan

import (
	"slices"
	"strings"

	"github.com/usher-dev/usher/etcd"
)

// form creates the first member. It records the member's name before it creates
// anything, so that there is never a second one; and it records that the member
// formed the cluster, so that a cluster is never formed twice. Clients get
// access only after that, so that the member can be replaced until then.
func (d *decision) form() *Step {
	if !d.version.Supported() {
		return d.blocked(UnsupportedVersion, etcd.Unsupported(d.Version))
	}
	step := &Step{Action: Bootstrap, Member: d.Seed, Version: d.version}
	if d.Seed == "" {
		return d.choose(step)
	}
	m := d.named(d.Seed)
	if m == nil {
		m = &Member{Name: d.Seed}
	}
	aside := slices.ContainsFunc(d.SetAside, func(s SetAside) bool { return s.Claim == m.Name })
	stale := (m.Pod.Exists || m.Claim.Exists) && m.StorageRevision != d.storageRevision ||
		m.Pod.Exists && (!d.freshPod(m) || m.Target != d.version || d.untrusting(m))
	switch {
	case m.Claim.Ending && m.Pod.Exists && !m.Pod.Ending: // which keeps the claim
		return &Step{Action: DeletePod, Member: m.Name, Why: "its claim is being deleted, and it has not served yet"}
	case m.Pod.Ending || m.Claim.Ending:
		return wait(m, "waits for the deletion of the pod and claim of an earlier attempt")
	case m.Pod.Exists && (stale || m.Pod.Ended):
		return &Step{Action: DeletePod, Member: m.Name, Why: "recreates the first member from the current manifest"}
	case stale:
		return &Step{Action: RetainUntil, Member: m.Name, Cause: NeverFormed, Why: "it belongs to an attempt to form the cluster from another spec"}
	case aside:
		return &Step{Action: NameFirstMember, Why: step.String()}
	case !m.Pod.Exists:
		return step
	case !m.Answers || !d.Quorum:
		d.watch(m, "")
		return wait(m, step.String())
	case !m.Pod.Sealed:
		return &Step{Action: PinInitialState, Member: m.Name, Why: "it must not form a second cluster"}
	}
	return &Step{Action: Record, Member: m.Name}
}

// choose records a name while nothing of the cluster exists.
func (d *decision) choose(form *Step) *Step {
	for i := range d.Members {
		m := &d.Members[i]
		if m.Healthy() && m.Pod.Sealed && d.Quorum {
			return &Step{Action: Record, Member: m.Name, Why: "the status does not say so"}
		}
	}
	pods := slices.ContainsFunc(d.Members, func(m Member) bool { return m.Pod.Exists })
	switch {
	case d.Adopt == AdoptClaims && !pods && len(d.Members)+len(d.Retained) > 0 && d.Unadoptable != "":
		return d.blocked(RetainedClaims, "the cluster cannot adopt the claims of a former cluster of this name: "+d.Unadoptable)
	case d.Adopt == AdoptClaims && !pods && len(d.Members)+len(d.Retained) > 0:
		return &Step{Action: Adopt, Why: "the cluster adopts the claims of a former cluster of this name"}
	case len(d.Members) > 0:
		return d.stalled(StallStatusLost, "the status does not record that the cluster was formed, but pods or claims of its members exist: "+
			"usher does not form a cluster; restart the members, or delete their remaining pods and claims")
	case len(d.Retained) > 0 && d.Adopt != IgnoreClaims:
		return d.blocked(RetainedClaims, "claims of a former cluster of this name exist: "+strings.Join(d.Retained, ", ")+
			`; write the annotation etcd.usher.dev/retained-claims: "adopt" to form the cluster from them, or "ignore" to form another next to them`)
	}
	if len(d.Orphans) > 0 {
		return d.blocked(RetainedClaims, "pods of a former cluster of this name run: "+strings.Join(d.Orphans, ", ")+"; delete them: clients of the new cluster would reach them")
	}
	return &Step{Action: NameFirstMember, Why: form.String()}
}
