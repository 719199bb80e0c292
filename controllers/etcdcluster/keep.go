package etcdcluster

import (
	"github.com/usher-dev/usher/policies/etcd"
)

// discard deletes what is left of members that etcd has no more, as a majority
// knows.
func discard(v view, _ *etcd.Step) (step, bool) {
	if !v.quorum {
		return step{}, false
	}
	for _, m := range v.members {
		left := (m.pod.exists && !m.pod.ending) || (m.claim && !m.claimEnding)
		if !m.listed && left {
			return step{do: doDiscard, member: m, why: "deletes the pod and claim of " + m.name + ", which is a member no more"}, true
		}
	}
	return step{}, false
}

// seal sees to it that voters' pods are sealed, and then that clients are sent
// to them.
func seal(v view, _ *etcd.Step) (step, bool) {
	for _, m := range v.voters() {
		switch {
		case !m.pod.exists || m.pod.ending || m.pod.dead:
		case !m.pod.sealed:
			return step{do: doSeal, member: m, why: "lets " + m.name + " start with its data only"}, true
		case !m.pod.voter:
			return step{do: doAdmit, member: m, why: "lets clients be sent to " + m.name}, true
		}
	}
	return step{}, false
}

// revive makes the pods again of members that have a claim. All of them: where
// most are down, none is ready before the others run.
func revive(v view, plan *etcd.Step) (step, bool) {
	for _, m := range v.members {
		switch {
		case !m.listed || !m.started || !m.claim || m.claimEnding || m.pod.ending:
		case m.pod.dead:
			return step{do: doRestart, member: m, why: "makes the pod of " + m.name + " anew, since it ended"}, true
		case !m.pod.exists:
			s := step{do: doRestore, member: m, version: m.pod.asked, why: "brings " + m.name + " back on its claim"}
			if plan != nil && plan.Member == m.name && plan.Version != (etcd.Version{}) {
				s.version = plan.Version.String()
			}
			return s, true
		}
	}
	return step{}, false
}

// follow does what the plan says next. What changes etcd's list waits for a
// majority.
func follow(v view, plan *etcd.Step) (step, bool) {
	if plan == nil {
		return step{}, false
	}
	m := v.named(plan.Member)
	s := step{member: m, version: plan.Version.String(), why: plan.String()}
	switch plan.Action {
	case etcd.AddLearner:
		s.do = doAdd
	case etcd.Remove:
		s.do = doRemove
	case etcd.MoveLeader:
		s.do = doMoveLeader
	case etcd.Promote:
		s.do = doPromote
		if !m.pod.sealed {
			s.do, s.why = doSeal, "lets "+m.name+" start with its data only, before it votes"
		}
	case etcd.CatchUp:
		s.do = doWait
		if !m.pod.exists && !m.started {
			s.do = doJoin
		}
	case etcd.Restart:
		s.do = doRestart
	case etcd.Upgrade:
		s.do = doUpgrade
		if m.pod.asked == s.version {
			s.do = doWait
		}
	default:
		s.do = doWait
	}
	majority := s.do == doAdd || s.do == doRemove || s.do == doMoveLeader || s.do == doPromote || s.do == doRestart
	podless := (s.do == doRestart || s.do == doUpgrade || s.do == doSeal) && (!m.pod.exists || m.pod.ending)
	if majority && !v.quorum || podless {
		s.do = doWait
	}
	return s, true
}
