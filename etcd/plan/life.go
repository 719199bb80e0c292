package plan

import (
	"time"

	"github.com/usher-dev/usher/etcd"
)

// Two questions decide what may be given up: whether a member lives, and
// whether the cluster may have a quorum. Every caller asks them here. A witness
// can only save a member or a cluster: nobody's silence outweighs a sign of
// life.

// Lives reports whether a member lives, according to any witness: the
// controller's client, which the member answers or refuses; another member that
// it sends to; or a kubelet whose node reports. A member that lives is never
// removed as lost or dead.
func (m *Member) Lives() bool {
	return m.takesPart() || m.Leaderless || m.Refusal != ""
}

// MayHaveQuorum reports whether the cluster may have a quorum: a majority of
// the voters live, or have not been silent for the member timeout yet. Then a
// restore does not replace the cluster without the user's word. Without a list
// of voters every known member counts as one.
func (o *Observation) MayHaveQuorum() bool {
	living, recent, all := o.census()
	return o.Quorum || all > 0 && living+recent >= etcd.Quorum(all)
}

// Census counts the voters, and those of them that live.
func (o *Observation) Census() (living, all int) {
	living, _, all = o.census()
	return living, all
}

func (o *Observation) census() (living, recent, all int) {
	voters, _ := o.voters()
	timeout := o.Limits.orDefault().MemberTimeout
	for i := range o.Members {
		m := &o.Members[i]
		if voters > 0 && !m.voting() {
			continue
		}
		all++
		switch {
		case m.Lives():
			living++
		case m.Unresponsive == nil || o.silentFor(m) < timeout:
			recent++
		}
	}
	return living, recent, all
}

// Serving returns who proves that the cluster accepts reads and writes now: ""
// if nobody does, or if an alarm is raised. A majority has answered a
// linearizable read of the controller, or the kubelet of a voter calls it ready:
// the readiness probe is a linearizable read as root. A refusal proves nothing.
func (o *Observation) Serving() string {
	if len(o.Alarms) > 0 {
		return ""
	}
	if o.Quorum {
		return "a majority of the members"
	}
	for i := range o.Members {
		if m := &o.Members[i]; m.voting() && m.vouched() && m.Serves() {
			return "the kubelet of " + m.Name
		}
	}
	return ""
}

// takesPart reports whether any witness sees the member take part in the
// cluster.
func (m *Member) takesPart() bool { return m.Answers || m.PeersReach || m.vouched() }

// vouched reports whether its kubelet says that it works.
func (m *Member) vouched() bool { return m.running() && !m.Pod.Ending && m.Pod.Ready }

// silent reports whether no witness says that it lives.
func (m *Member) silent() bool { return !m.Lives() && m.Unresponsive != nil }

// silentFor returns for how long the member has been silent.
func (o *Observation) silentFor(m *Member) time.Duration {
	if !m.silent() {
		return 0
	}
	return o.Now.Sub(m.Unresponsive.Since)
}
