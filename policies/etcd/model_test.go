package etcd_test

import (
	"fmt"

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
