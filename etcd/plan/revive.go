package plan

import (
	"fmt"

	"github.com/usher-dev/usher/etcd"
)

// seal seals voters' pods, and then sends clients to them.
func (d *decision) seal() *Step {
	for m := range d.listed {
		switch {
		case m.Learner || !m.running() || m.Pod.Ending:
		case !m.Pod.Sealed:
			return &Step{Action: PinInitialState, Member: m.Name, Why: "it votes"}
		case !m.Pod.Exposed:
			return &Step{Action: AddToService, Member: m.Name, Why: "it votes"}
		}
	}
	return nil
}

// wake recreates the pods of members with a claim. It recreates all of them: if
// most are down, none becomes ready before the others run.
func (d *decision) wake() *Step {
	for m := range d.listed {
		switch {
		case !m.Started || !m.Durable || m.doomed() || m.DataGone || m.Pod.Ending:
		case m.Pod.Ended:
			return &Step{Action: Restart, Member: m.Name, Why: "it ended"}
		case !m.Pod.Exists:
			return &Step{Action: Recover, Member: m.Name, Version: d.comeback(m)}
		}
	}
	return nil
}

// comeback returns the version with which to recreate the pod of a member.
func (d *decision) comeback(m *Member) etcd.Version {
	to := d.target()
	switch {
	case d.mayRun(m, to):
		return to
	case m.made():
		return m.Target
	}
	return m.Version
}

// revive restores a member that is not ready. It does nothing while a witness
// says that the member works; the cause may be the controller's last change.
func (d *decision) revive(m *Member) *Step {
	to := d.target()
	touch := m.silent() && (m.ownChange() || m.Pod.Stuck) && m.running() && !m.Pod.Ending
	switch {
	case touch && m.Target != to && d.mayRun(m, to):
		return &Step{Action: Upgrade, Member: m.Name, Version: to, Why: "it does not answer, and was told to run " + m.Target.String()}
	case touch && m.Durable && !m.doomed() && !d.frozen && (!d.freshPod(m) || d.untrusting(m)):
		return &Step{Action: Restart, Member: m.Name, Why: "it does not answer, and its pod does not match the spec"}
	case d.refusedByOthers(m):
		return &Step{Action: Restart, Member: m.Name, Why: d.Observation.CertificateStep().Why()}
	}
	d.watch(m, "")
	return &Step{Action: Recover, Member: m.Name, Version: d.comeback(m)}
}

// mayRun reports whether the member's data may be used with that version,
// although not every member is healthy.
func (d *decision) mayRun(m *Member, to etcd.Version) bool {
	switch c := to.CompareMinor(m.Version); {
	case m.Version == (etcd.Version{}) || c == 0:
		return true
	case c < 0: // its data was converted before it was told so
		return m.made() && to.CompareMinor(m.Target) == 0
	}
	return d.agreed(m.Version)
}

// watch reports that the cluster is stalled if an awaited member does not
// start, and a person has to look.
func (d *decision) watch(m *Member, why string) {
	overdue := d.overdue(m)
	reason := m.Pod.Reason
	switch {
	case m.Durable && m.doomed() && !m.Ready():
		reason = StallClaimEnding
		why = "its claim is being deleted, and its data is lost with its pod: copy the data"
	case m.Pod.Exists && m.Pod.Stuck && (m.ownChange() || m.Pod.Shared || overdue):
	case !overdue:
		return
	case m.Answers:
		reason, why = StallNotReady, "it answers, but its kubelet reports that it is not ready: usher neither replaces nor changes members until it is"
	case m.Refusal != "":
		reason, why = StallRefused, "it refuses usher's client: "+m.Refusal
	case m.Leaderless:
		reason, why = StallUnreachable, "it answers the controller, and has no leader: check the network between the members"
	case (m.PeersReach || m.Unresponsive.According == Client) && m.Late:
		reason, why = StallSlow, "it does not answer the controller in time, but works according to its kubelet or the other members: check the load and the disk of its node, and whether the network drops the controller's packets"
	case m.PeersReach || m.Unresponsive.According == Client:
		reason, why = StallUnreachable, "it does not answer the controller, but works according to its kubelet or the other members: check the network and the certificates"
	case reason == "":
		reason = StallUnresponsive
	}
	d.stall = &Stall{Reason: reason, Message: d.stuck(m, why)}
}

// overdue reports whether a member has not been ready for the member timeout.
func (d *decision) overdue(m *Member) bool {
	return m.Unresponsive != nil && d.Now.Sub(m.Unresponsive.Since) >= d.Limits.MemberTimeout
}

// stuck describes the stuck member, the cause, and what to do.
func (d *decision) stuck(m *Member, why string) string {
	text := m.Name + " is not ready"
	if m.Pod.Message != "" {
		text += ": " + m.Pod.Message
	}
	if why != "" {
		return text + "; " + why
	}
	switch {
	case m.made() && m.Version != (etcd.Version{}) && m.Target != m.Version:
		text += fmt.Sprintf("; it was told to run %s and ran %s before; it keeps its data, and usher changes no other member: to revert, write spec.version: %s", m.Target, m.Version, m.Version)
		if !m.Target.Known() {
			text += fmt.Sprintf("; the newest patch of that minor version that usher knows is %s", m.Target.Nearest())
		}
	case m.Changed || !m.Started:
		text += "; it has not been ready since it was created from the current spec, and usher changes no other member: revert spec.pod, spec.repository or spec.TLS, or correct what the reason names"
	}
	return text
}
