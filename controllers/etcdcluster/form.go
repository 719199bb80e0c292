package etcdcluster

import (
	"github.com/usher-dev/usher/policies/etcd"
)

// distrust stops where members answer for another cluster.
func distrust(v view, _ *etcd.Step) (step, bool) {
	if v.foreign == "" {
		return step{}, false
	}
	return waitFor(member{}, "members answer for another cluster, "+v.foreign+": nothing is done until somebody looks at them")
}

// form makes the first member. Its name is recorded before anything is made, so
// that there is never a second; and once it has formed the cluster that is
// recorded, so that a cluster is never formed twice. Clients are sent to it
// after that, so that until then it can be made anew.
func form(v view, plan *etcd.Step) (step, bool) {
	switch {
	case v.formed:
		return step{}, false
	case plan == nil || plan.Action != etcd.Form:
		return step{}, true // the plan says why not
	case v.seed == "":
		return step{do: doChoose, why: plan.String()}, true
	}
	m := v.named(v.seed)
	other := m.outdated || m.pod.exists && m.pod.asked != plan.Version.String()
	switch {
	case m.pod.ending || m.claimEnding:
		return waitFor(m, "waits for the pod and claim of an attempt before to be gone")
	case other || m.pod.dead:
		return step{do: doDiscard, member: m, why: "makes the first member anew, as the manifest says by now"}, true
	case !m.pod.exists:
		return step{do: doForm, member: m, version: plan.Version.String(), why: plan.String()}, true
	case !m.answers || !v.quorum:
		return waitFor(m, plan.String())
	case !m.pod.sealed:
		return step{do: doSeal, member: m, why: "keeps " + m.name + " from forming a second cluster"}, true
	}
	return step{do: doRecord, member: m, why: "records that " + m.name + " formed the cluster"}, true
}
