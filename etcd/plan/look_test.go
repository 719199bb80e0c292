package plan_test

import (
	"slices"
	"strings"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// look is a controller's observation of the world: the API server's objects,
// and the answers of members that it can reach.
func (w *world) look(c *controller) *plan.Observation {
	o := &plan.Observation{
		Now: w.now.Add(c.clock), Limits: plan.Limits{MemberTimeout: memberTimeout, Unasked: plan.DefaultUnasked},
		Formed: w.api.formed, Seed: w.api.seed, TLS: etcd.Encrypted(w.spec), ClusterVersion: w.version, StorageVersion: w.storage, Adopt: w.adopt,
	}
	for _, n := range w.voters() {
		if w.answers(n.name) {
			o.Quorum = true
		}
	}
	heard := !w.authenticated && slices.ContainsFunc(w.members, func(n *node) bool { return w.hears(n.name) })
	names := map[string]bool{}
	for name := range w.pods {
		names[name] = true
	}
	for name, claim := range w.claims {
		switch {
		case claim.retained:
			o.Retained = append(o.Retained, name)
		case claim.aside != nil:
			o.SetAside = append(o.SetAside, plan.SetAside{Claim: name, Cause: claim.aside.cause, Until: claim.aside.until, Listed: heard && w.member(name) != nil, Held: w.restore.holds(claim.aside)})
		default:
			names[name] = true
		}
	}
	if heard {
		for _, n := range w.members {
			names[w.called(n.name)] = true
		}
	} else {
		for _, k := range w.api.known {
			names[k.name] = true
		}
	}
	for _, name := range sortedKeys(names) {
		o.Members = append(o.Members, w.see(name, heard))
	}
	slices.SortFunc(o.Retained, func(a, b string) int {
		return slices.Index(sortedKeys(w.claims), a) - slices.Index(sortedKeys(w.claims), b)
	})
	slices.SortFunc(o.SetAside, func(a, b plan.SetAside) int {
		return slices.Index(sortedKeys(w.claims), a.Claim) - slices.Index(sortedKeys(w.claims), b.Claim)
	})
	c.memory.Update(o)
	return o
}

// elsewhere is the name in the URL of a member that a person has edited.
const elsewhere = "elsewhere."

// called returns the controller's name of a member in etcd's list: by its ID,
// which the status has for all members seen before, or else by the name in its
// URL.
func (w *world) called(name string) string {
	known := slices.ContainsFunc(w.api.known, func(k known) bool { return k.name == name })
	if w.edited[name] && (w.byURL || !known && !w.hears(name)) {
		return elsewhere + name
	}
	return name
}

// is returns the member with that name.
func (w *world) is(name string) string { return strings.TrimPrefix(name, elsewhere) }

// hears reports whether a member answers the controller at all.
func (w *world) hears(name string) bool {
	return w.runs(name) && !w.slow[name] && w.reach(controllerParty, name)
}

// answers reports whether it answers as a member with a leader.
func (w *world) answers(name string) bool {
	return !w.authenticated && w.hears(name) && w.takesPart(name)
}

// see observes one member.
func (w *world) see(name string, heard bool) plan.Member {
	m := plan.Member{Name: name, Leaving: w.api.reasons[name]}
	var k known
	for _, each := range w.api.known {
		if each.name == name {
			k = each
		}
	}
	m.Version, m.Target, m.Changed, m.Durable = k.ran, k.target, k.changed, k.durable
	m.PodRevision, m.StorageRevision = k.podRevision, k.storageRevision
	if n := w.member(w.is(name)); heard && n != nil && w.called(n.name) == name {
		m.Listed, m.Learner = true, n.learner
		m.Started = n.ran != (etcd.Version{})
		m.Answers = w.answers(name)
		m.Leader = n.leader && m.Answers
		if m.Answers {
			m.Version = n.ran
		}
	} else if !heard && k.name != "" {
		m.Listed, m.Learner, m.Started = true, k.learner, k.ran != (etcd.Version{})
	}
	if w.member(name) != nil && w.hears(name) {
		m.Leaderless = !w.authenticated && !w.takesPart(name)
		if w.authenticated {
			m.Refusal = "etcd's authentication is enabled"
		}
	}
	// The metrics of a member need neither credentials nor much time.
	for _, other := range w.members {
		if m.Listed && !m.Answers && other.name != name && w.runs(other.name) && w.reach(controllerParty, other.name) && w.runs(name) && w.reach(other.name, name) {
			m.PeersReach = true
		}
	}
	w.seeParts(&m, k)
	return m
}

// seeParts observes the member's pod and claim.
func (w *world) seeParts(m *plan.Member, k known) {
	c := w.claims[m.Name]
	if c != nil && c.aside == nil && !c.retained {
		m.Claim = plan.Claim{Exists: true, Ending: c.ending}
		m.Durable, m.StorageRevision = true, c.storageRevision
		if k.claimUID != "" && k.claimUID != c.uid {
			m.Claim.Exists, m.Claim.Other = false, true
		}
	}
	p := w.pods[m.Name]
	if p != nil {
		m.Durable = p.claimUID != ""
		m.Target, m.PodRevision, m.StorageRevision = p.target, p.revision, p.storageRevision
		ready := p.up && w.takesPart(m.Name)
		if lie, ok := w.lies[m.Name]; ok {
			ready = lie
		}
		m.Pod = plan.Pod{ID: p.uid, Exists: true, Ready: ready && !w.detached[m.Name] && !w.gone[m.Name], Ending: p.ending, Ended: p.ended, Sealed: p.sealed, Exposed: p.exposed}
		if !p.up && !w.detached[m.Name] && !w.gone[m.Name] && (w.absent[p.target] || w.broken[p.revision]) {
			m.Pod.Stuck, m.Pod.Shared, m.Pod.Reason, m.Pod.Message = true, true, "ImagePullBackOff", "no such image"
		}
	}
	m.DataGone = m.Listed && m.Started && (!m.Claim.Exists && (p == nil || p.ended) || p != nil && p.empty && !p.up)
}

// report writes the status before the step. The write fails if another
// controller has written since.
func (w *world) report(o *plan.Observation, step *plan.Step, version int) bool {
	if w.api.version != version {
		return false
	}
	was := w.api.known
	w.api.known = nil
	for i := range o.Members {
		m := &o.Members[i]
		if !m.Listed {
			continue
		}
		k := known{name: m.Name, learner: m.Learner, ran: m.Version, target: m.Target, durable: m.Durable, podRevision: m.PodRevision, storageRevision: m.StorageRevision}
		for _, each := range was {
			if each.name == m.Name {
				k.claimUID = each.claimUID
			}
		}
		if c := w.claims[m.Name]; c != nil && k.claimUID == "" {
			k.claimUID = c.uid
		}
		k.changed = plan.StillChanged(m, step)
		w.api.known = append(w.api.known, k)
	}
	if step != nil && step.Action == plan.Remove {
		w.api.reasons[step.Member] = step.Cause
	}
	w.api.version++
	return true
}
