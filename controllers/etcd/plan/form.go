package plan

import (
	"slices"
	"strings"

	"github.com/usher-dev/usher/policies/etcd"
)

// form makes the first member. Its name is recorded before anything is made, so
// that there is never a second; and once it has formed the cluster that is
// recorded, so that a cluster is never formed twice. Clients are sent to it
// after that, so that until then it can be replaced.
func (d *decision) form() *Step {
	if !d.version.Supported() {
		return d.blocked(UnsupportedVersion, etcd.Unsupported(d.Version))
	}
	step := &Step{Action: Form, Member: d.Seed, Version: d.version}
	if d.Seed == "" {
		return d.choose(step)
	}
	m := d.named(d.Seed)
	if m == nil {
		m = &Member{Name: d.Seed}
	}
	aside := slices.ContainsFunc(d.SetAside, func(s SetAside) bool { return s.Claim == m.Name })
	stale := (m.Pod.Exists || m.Claim.Exists) && m.StorageRevision != d.storageRevision ||
		m.Pod.Exists && (m.PodRevision != d.podRevision || m.Target != d.version)
	switch {
	case m.Pod.Ending || m.Claim.Ending:
		return wait(m, "waits for the pod and claim of an attempt before to be gone")
	case m.Pod.Exists && (stale || m.Pod.Ended):
		return &Step{Action: Discard, Member: m.Name, Why: "makes the first member anew, as the manifest says by now"}
	case stale:
		return &Step{Action: SetAsideClaim, Member: m.Name, Cause: NeverFormed, Why: "it is of an attempt to form the cluster from another spec"}
	case aside:
		return &Step{Action: Choose, Why: step.String()}
	case !m.Pod.Exists:
		return step
	case !m.Answers || !d.Quorum:
		d.watch(m, "")
		return wait(m, step.String())
	case !m.Pod.Sealed:
		return &Step{Action: Seal, Member: m.Name, Why: "it must not form a second cluster"}
	}
	return &Step{Action: Record, Member: m.Name}
}

// choose records a name where nothing of the cluster is there yet.
func (d *decision) choose(form *Step) *Step {
	for i := range d.Members {
		m := &d.Members[i]
		if m.Healthy() && m.Pod.Sealed && d.Quorum {
			return &Step{Action: Record, Member: m.Name, Why: "the status does not say so"}
		}
	}
	pods := slices.ContainsFunc(d.Members, func(m Member) bool { return m.Pod.Exists })
	switch {
	case d.Adopt == AdoptClaims && !pods && len(d.Members)+len(d.Retained) > 0:
		return &Step{Action: Adopt, Why: "the claims of a former cluster of this name are made this one's"}
	case len(d.Members) > 0:
		return d.stalled(StallStatusLost, "the status does not say that the cluster was formed, and there are pods or claims of its members: "+
			"nothing is formed; bring the members back, or delete what is left of them")
	case len(d.Retained) > 0 && d.Adopt != IgnoreClaims:
		return d.blocked(RetainedClaims, "claims of a former cluster of this name are there: "+strings.Join(d.Retained, ", ")+
			`; write the annotation etcd.usher.dev/retained-claims: "adopt" to have the cluster made of them, or "ignore" to form another next to them`)
	}
	return &Step{Action: Choose, Why: form.String()}
}
