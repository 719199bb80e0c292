package plan

import (
	"fmt"

	"github.com/usher-dev/usher/policies/etcd"
)

// seal sees to it that voters' pods are sealed, and then that clients are sent
// to them.
func (d *decision) seal() *Step {
	for m := range d.listed {
		switch {
		case m.Learner || !m.running() || m.Pod.Ending:
		case !m.Pod.Sealed:
			return &Step{Action: Seal, Member: m.Name, Why: "it votes"}
		case !m.Pod.Exposed:
			return &Step{Action: Expose, Member: m.Name, Why: "it votes"}
		}
	}
	return nil
}

// wake makes the pods again of members that have a claim. All of them: where
// most are down, none is ready before the others run.
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

// comeback is the version that a member whose pod is gone is made with again.
func (d *decision) comeback(m *Member) etcd.Version {
	if to := d.target(); !m.made() || d.mayRun(m, to) {
		return to
	}
	return m.Target
}

// revive mends a member that is not ready. Where it works according to somebody
// nothing is touched; what the controller told it last may be why it does not.
func (d *decision) revive(m *Member) *Step {
	to := d.target()
	touch := m.silent() && (m.ownChange() || m.Pod.Stuck) && m.running() && !m.Pod.Ending
	switch {
	case touch && m.Target != to && d.mayRun(m, to):
		return &Step{Action: Upgrade, Member: m.Name, Version: to, Why: "it does not answer, and was told to run " + m.Target.String()}
	case touch && m.Durable && !m.doomed() && !d.frozen && m.PodRevision != d.podRevision:
		return &Step{Action: Restart, Member: m.Name, Why: "it does not answer, and its pod is not what the spec wants"}
	}
	d.watch(m, "")
	return &Step{Action: Recover, Member: m.Name, Version: to}
}

// mayRun says whether the member's data may be given to that version, although
// not every member is well.
func (d *decision) mayRun(m *Member, to etcd.Version) bool {
	if m.Version == (etcd.Version{}) || to.CompareMinor(m.Version) == 0 {
		return true
	}
	return to.CompareMinor(m.Version) > 0 && d.agreed(m.Version)
}

// watch says that the cluster is stalled where a member that is waited for does
// not come up, and a person has to look.
func (d *decision) watch(m *Member, why string) {
	overdue := m.Unresponsive != nil && d.Now.Sub(m.Unresponsive.Since) >= d.Limits.MemberTimeout
	reason := m.Pod.Reason
	switch {
	case m.Durable && m.doomed() && !m.Ready():
		reason = StallClaimEnding
		why = "its claim is being deleted, and its data goes with its pod: copy it from there"
	case m.Pod.Exists && m.Pod.Stuck && (m.ownChange() || m.Pod.Shared || overdue):
	case !overdue:
		return
	case m.Answers:
		reason, why = StallNotReady, "it answers, and its kubelet says that it is not ready: nothing is replaced or changed until it is"
	case m.PeersReach || m.Unresponsive.According == Client:
		reason, why = StallUnreachable, "it does not answer the controller, and works according to its kubelet or the other members: look at the network between them, and at certificates"
	case reason == "":
		reason = StallUnresponsive
	}
	d.stall = &Stall{Reason: reason, Message: d.stuck(m, why)}
}

// stuck says who is stuck, why, and what to do.
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
		text += fmt.Sprintf("; it was told to run %s and ran %s before: no other is changed, and it keeps its data; write spec.version: %s to take that back", m.Target, m.Version, m.Version)
		if !m.Target.Known() {
			text += fmt.Sprintf("; of that minor version the newest that usher knows is %s", m.Target.Nearest())
		}
	case m.Changed || !m.Started:
		text += "; it is not ready since it was made from the spec as it is: no other is changed; take the change of spec.pod, spec.repository or spec.TLS back, or mend what the reason says"
	}
	return text
}
