package etcd_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
)

// A model is a cluster reduced to what can lose data: who is a member, who
// votes, which writes each has, and what its pod runs. It plays etcd, the
// kubelet and the controller; the plan is the real one.
type model struct {
	spec *v1beta2.ClusterSpec

	members []*node // as etcd has them, in the order they were added
	pods    map[string]*pod
	disks   map[string]*disk // by the member they are of
	formed  bool             // recorded by the controller
	tls     string
	version etcd.Version // of the cluster; the data follows a tick later
	storage etcd.Version
	// acknowledged is the last write that a client was told of.
	acknowledged int
	names        int
	round        int // rotates who is asked for a vote

	// broken are versions that do not start.
	broken map[etcd.Version]bool
	// crash stops the controller after that many calls; none below zero.
	crash int
	// blocked is what the last plan said, events the steps so far.
	blocked etcd.Block
	events  []string
}

// A node is a member as etcd has it.
type node struct {
	name    string
	learner bool
	leader  bool
	// ran is what it last said it runs.
	ran etcd.Version
}

// A pod is where a member runs.
type pod struct {
	made etcd.Member // its target and revisions
	up   bool
}

// A disk is what a member wrote, up to a write. It is the pod's or a claim's.
type disk struct {
	has   int
	claim bool
	made  etcd.Member
}

func newModel(spec *v1beta2.ClusterSpec) *model {
	return &model{spec: spec, pods: map[string]*pod{}, disks: map[string]*disk{}, broken: map[etcd.Version]bool{}, crash: -1}
}

// errCrash unwinds the controller.
type errCrash struct{}

// call is one call of the controller's: to etcd, or to the API server.
func (m *model) call(f func()) {
	if m.crash == 0 {
		m.crash = -1
		panic(errCrash{})
	}
	if m.crash > 0 {
		m.crash--
	}
	f()
}

func (m *model) up(name string) bool { p := m.pods[name]; return p != nil && p.up }

func (m *model) voters() (all []*node, healthy int) {
	for _, n := range m.members {
		if !n.learner {
			all = append(all, n)
			if m.up(n.name) {
				healthy++
			}
		}
	}
	return all, healthy
}

// agree says whether the voters can decide anything.
func (m *model) agree() bool {
	all, healthy := m.voters()
	return len(all) > 0 && healthy >= etcd.Quorum(len(all))
}

func (m *model) leader() *node {
	for _, n := range m.members {
		if n.leader && m.up(n.name) {
			return n
		}
	}
	return nil
}

// tick is a moment: pods start, a leader is elected, a write is acknowledged by
// as few as may be, and only then do the others get it.
func (m *model) tick() error {
	for name, p := range m.pods {
		if m.disks[name] != nil && !m.broken[p.made.Target] {
			p.up = true
		}
	}
	for _, n := range m.members {
		if m.up(n.name) {
			n.ran = m.pods[n.name].made.Target
		} else {
			n.leader = false
		}
	}
	if !m.agree() {
		return nil
	}
	if m.leader() == nil {
		if err := m.elect(); err != nil {
			return err
		}
	}
	if m.formed { // clients are served from then on
		m.write()
	}
	m.replicate()
	m.settle()
	return nil
}

// elect makes a voter the leader that has the most: no voter with less gets the
// votes of those.
func (m *model) elect() error {
	var best *node
	for _, n := range m.members {
		n.leader = false
		if !n.learner && m.up(n.name) && (best == nil || m.disks[n.name].has > m.disks[best.name].has) {
			best = n
		}
	}
	best.leader = true
	if has := m.disks[best.name].has; has < m.acknowledged {
		return fmt.Errorf("acknowledged writes are lost: %d were, and %s, which leads, has %d", m.acknowledged, best.name, has)
	}
	return nil
}

// write is acknowledged by the leader and as many others as it takes, in turn.
func (m *model) write() {
	all, _ := m.voters()
	leader := m.leader()
	acked := []*node{leader}
	m.round++
	for i := range all {
		if n := all[(i+m.round)%len(all)]; len(acked) < etcd.Quorum(len(all)) && n != leader && m.up(n.name) {
			acked = append(acked, n)
		}
	}
	if len(acked) < etcd.Quorum(len(all)) {
		return
	}
	m.acknowledged++
	for _, n := range acked {
		m.disks[n.name].has = m.acknowledged
	}
}

// replicate brings one member a tick up to date, in turn, so that most lag.
func (m *model) replicate() {
	for i := range m.members {
		n := m.members[(i+m.round)%len(m.members)]
		if d := m.disks[n.name]; m.up(n.name) && d.has < m.acknowledged-1 {
			d.has = m.acknowledged
			return
		}
	}
}

func (m *model) settle() {
	m.storage = m.version
	lowest := etcd.Version{}
	for _, n := range m.members {
		if v := n.ran; v != (etcd.Version{}) && (lowest == (etcd.Version{}) || v.Compare(lowest) < 0) {
			lowest = v
		}
	}
	m.version = etcd.Version{Major: lowest.Major, Minor: lowest.Minor}
}

// seen is what the controller makes of it.
func (m *model) seen() *etcd.Observed {
	o := &etcd.Observed{Formed: m.formed, TLS: m.tls, ClusterVersion: m.version, StorageVersion: m.storage}
	for _, n := range m.members {
		e := etcd.Member{Name: n.name, Version: n.ran, Learner: n.learner, Leader: n.leader && m.agree()}
		p, d := m.pods[n.name], m.disks[n.name]
		switch {
		case p != nil:
			e.Target, e.PodRevision = p.made.Target, p.made.PodRevision
		case d != nil:
			e.Target, e.PodRevision = d.made.Target, d.made.PodRevision
		}
		if d != nil {
			e.Durable, e.Storage, e.StorageRevision = d.claim, d.made.Storage, d.made.StorageRevision
		}
		e.Ready = m.up(n.name) && (!n.learner || m.agree() && d.has >= m.acknowledged-1)
		// A member that was added and not made yet has no data to lose.
		e.Lost = m.formed && d == nil && (!n.learner || n.ran != etcd.Version{})
		o.Members = append(o.Members, e)
	}
	return o
}

// make is a member as the spec has it.
func (m *model) make(name string, v etcd.Version) etcd.Member {
	made := etcd.Member{Name: name, Target: v, PodRevision: etcd.PodRevision(m.spec), StorageRevision: etcd.StorageRevision(m.spec)}
	if claim := m.spec.Pod.PersistentVolumeClaimSpec; claim != nil {
		made.Durable, made.Storage = true, claim.Resources.Requests["storage"]
	}
	return made
}

func (m *model) member(name string) *node {
	for _, n := range m.members {
		if n.name == name {
			return n
		}
	}
	return nil
}

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
