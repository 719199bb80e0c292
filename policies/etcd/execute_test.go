package etcd_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/usher-dev/usher/policies/etcd"
)

// reconcile executes the first step of the plan, and says whether there was one.
func (m *model) reconcile() (step *etcd.Step, crashed bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(errCrash); !ok {
				panic(r)
			}
			crashed = true
		}
	}()
	m.collect()
	seen := m.seen()
	plan := etcd.Next(m.spec, seen)
	m.blocked = plan.Blocked
	step = plan.Now()
	if step == nil {
		return nil, false, nil
	}
	m.events = append(m.events, step.String())
	return step, false, m.execute(step)
}

func (m *model) execute(s *etcd.Step) error {
	all, healthy := m.voters()
	decides := m.formed && m.agree()
	switch s.Action {
	case etcd.Form:
		return m.form(s)
	case etcd.Recover, etcd.CatchUp:
		m.ensurePod(s.Member, s.Version)
	case etcd.AddLearner:
		if !decides {
			return fmt.Errorf("%s: the voters cannot decide it", s)
		}
		if slices.ContainsFunc(m.members, func(n *node) bool { return n.learner }) {
			return fmt.Errorf("%s: there is a learner already", s)
		}
		name := ""
		m.call(func() {
			m.names++
			name = fmt.Sprintf("n%d", m.names)
			m.members = append(m.members, &node{name: name, learner: true})
		})
		m.makePod(name, s.Version)
	case etcd.Promote:
		n := m.member(s.Member)
		if !decides || !n.learner || m.disks[n.name].has < m.acknowledged-1 {
			return fmt.Errorf("%s: it cannot vote", s)
		}
		m.call(func() { n.learner = false })
	case etcd.MoveLeader:
		n := m.member(s.Member)
		if !decides || n.learner || !m.up(n.name) {
			return fmt.Errorf("%s: it cannot lead", s)
		}
		m.call(func() {
			m.disks[n.name].has = m.acknowledged // etcd hands over only then
			for _, other := range m.members {
				other.leader = other == n
			}
		})
	case etcd.Remove:
		n := m.member(s.Member)
		left, healthyLeft := len(all), healthy
		if !n.learner {
			left--
			if m.up(n.name) {
				healthyLeft--
			}
		}
		if !decides || healthyLeft < etcd.Quorum(left) {
			return fmt.Errorf("%s: %d of %d voters would be left, which is no quorum", s, healthyLeft, left)
		}
		m.call(func() { m.members = slices.DeleteFunc(m.members, func(other *node) bool { return other == n }) })
		m.collect()
	case etcd.Upgrade:
		if err := m.mayRun(s); err != nil {
			return err
		}
		p := m.pods[s.Member]
		if p == nil {
			m.ensurePod(s.Member, s.Version)
			p = m.pods[s.Member]
		}
		if p != nil && p.made.Target != s.Version {
			m.call(func() { p.made.Target, p.up = s.Version, false })
		}
	case etcd.Restart:
		d := m.disks[s.Member]
		if d == nil || !d.claim {
			return fmt.Errorf("%s: its data would be gone", s)
		}
		target := d.made.Target
		if p := m.pods[s.Member]; p != nil {
			target = p.made.Target
		}
		m.call(func() { d.made.Target = target; delete(m.pods, s.Member) })
		m.makePod(s.Member, target)
	}
	return nil
}

// mayRun holds an upgrade to what etcd asks for: never back, one minor at a
// time, and only from data in the format of the version before.
func (m *model) mayRun(s *etcd.Step) error {
	switch n := m.member(s.Member); {
	case s.Version.Compare(n.ran) < 0:
		return fmt.Errorf("%s: it ran %s", s, n.ran)
	case !m.formed || s.Version.Minor <= m.version.Minor:
		return nil
	case s.Version.Minor > m.version.Minor+1 || m.storage.Minor != m.version.Minor:
		return fmt.Errorf("%s: the cluster speaks %s, and its data is of %s", s, m.version, m.storage)
	}
	return nil
}

func (m *model) form(s *etcd.Step) error {
	if m.acknowledged > 0 {
		return fmt.Errorf("%s: a cluster that took writes is formed anew", s)
	}
	if len(m.members) == 0 {
		m.call(func() {
			m.names++
			m.members = []*node{{name: fmt.Sprintf("n%d", m.names)}}
		})
	}
	name := m.members[0].name
	p := m.pods[name]
	if made := m.make(name, s.Version); p == nil || p.made.PodRevision != made.PodRevision || p.made.StorageRevision != made.StorageRevision || p.made.Target != made.Target {
		m.call(func() { delete(m.pods, name) })
		m.call(func() { delete(m.disks, name) })
		m.makePod(name, s.Version)
		return nil
	}
	if !p.up {
		return nil
	}
	m.call(func() { m.formed, m.tls = true, etcd.Encrypted(m.spec) })
	return nil
}

// ensurePod makes a member's pod where there is none: on its data, or where it
// never ran from nothing.
func (m *model) ensurePod(name string, v etcd.Version) {
	if m.pods[name] != nil {
		return
	}
	n, d := m.member(name), m.disks[name]
	switch {
	case d != nil && d.claim:
		m.call(func() { m.pods[name] = &pod{made: d.made} })
	case d == nil && n.learner && n.ran == (etcd.Version{}):
		m.makePod(name, v)
	}
}

func (m *model) makePod(name string, v etcd.Version) {
	made := m.make(name, v)
	if m.disks[name] == nil && made.Durable {
		m.call(func() { m.disks[name] = &disk{claim: true, made: made} })
	}
	m.call(func() {
		d := m.disks[name]
		if d == nil { // comes with the pod
			d = &disk{made: made}
			m.disks[name] = d
		}
		d.made.PodRevision, d.made.Target = made.PodRevision, made.Target
		m.pods[name] = &pod{made: d.made}
	})
}

// collect deletes what belongs to no member.
func (m *model) collect() {
	for _, name := range slices.Sorted(maps.Keys(m.disks)) {
		if m.member(name) == nil {
			m.call(func() { delete(m.pods, name) })
			m.call(func() { delete(m.disks, name) })
		}
	}
}
