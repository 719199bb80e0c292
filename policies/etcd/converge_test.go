package etcd_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
	"github.com/usher-dev/usher/policies/etcd/states"
)

// settledModel is a cluster as the spec wants it, with writes.
func settledModel(spec *v1beta2.ClusterSpec) *model {
	m := newModel(spec)
	v, err := etcd.ParseVersion(spec.Version)
	if err != nil {
		panic(err)
	}
	m.formed, m.tls, m.acknowledged = true, etcd.Encrypted(spec), 5
	m.version = etcd.Version{Major: v.Major, Minor: v.Minor}
	m.storage = m.version
	for range spec.Size {
		m.names++
		name := fmt.Sprintf("n%d", m.names)
		made := m.make(name, v)
		m.members = append(m.members, &node{name: name, ran: v})
		m.pods[name] = &pod{made: made, up: true}
		m.disks[name] = &disk{has: m.acknowledged, claim: made.Durable, made: made}
	}
	return m
}

// maxTicks is far more than any change takes.
const maxTicks = 500

// run lets time pass until the plan is empty; at is called before each step.
func (m *model) run(at func(step int)) (steps int, err error) {
	idle := 0
	for range maxTicks {
		if err := m.tick(); err != nil {
			return steps, err
		}
		at(steps)
		step, crashed, err := m.reconcile()
		if err != nil {
			return steps, err
		}
		if step == nil && !crashed {
			if idle++; idle > 3 {
				return steps, nil
			}
			continue
		}
		idle = 0
		steps++
	}
	return steps, fmt.Errorf("still at it after %d steps: %v", steps, m.events[max(0, len(m.events)-8):])
}

func nothing(int) {}

// settled says what is not as the spec wants it.
func (m *model) settled() error {
	all, healthy := m.voters()
	if len(all) != m.spec.Size || healthy != len(all) || len(m.members) != len(all) || len(m.pods) != len(all) || len(m.disks) != len(all) {
		return fmt.Errorf("%d voters of %d, %d healthy, %d members, %d pods, %d disks", len(all), m.spec.Size, healthy, len(m.members), len(m.pods), len(m.disks))
	}
	v, _ := etcd.ParseVersion(m.spec.Version)
	for _, n := range all {
		want := m.make(n.name, v)
		if got := m.pods[n.name].made; got.PodRevision != want.PodRevision || got.StorageRevision != want.StorageRevision || n.ran != v {
			return fmt.Errorf("%s is not as the spec wants it: runs %s", n.name, n.ran)
		}
	}
	if m.leader() == nil {
		return fmt.Errorf("nobody leads")
	}
	return nil
}

// A fault is what goes wrong before a step.
type fault struct {
	name string
	// inject says whether it could be had.
	inject func(*model) bool
}

func faults() []fault {
	var all []fault
	for calls := range 4 {
		all = append(all, fault{fmt.Sprintf("the controller dies after %d calls", calls), func(m *model) bool { m.crash = calls; return true }})
	}
	victims := []struct {
		name string
		is   func(*node) bool
	}{
		{"the leader", func(n *node) bool { return n.leader }},
		{"a follower", func(n *node) bool { return !n.leader && !n.learner }},
		{"the learner", func(n *node) bool { return n.learner }},
	}
	for _, v := range victims {
		all = append(all,
			fault{v.name + " is killed", func(m *model) bool { return m.kill(m.pick(v.is), false, false) }},
			fault{v.name + " has its pod evicted", func(m *model) bool { return m.kill(m.pick(v.is), true, false) }},
			fault{v.name + " loses its data", func(m *model) bool { return m.kill(m.pick(v.is), true, true) }},
		)
	}
	return all
}

// pick is the newest such member.
func (m *model) pick(is func(*node) bool) *node {
	for _, n := range slices.Backward(m.members) {
		if is(n) {
			return n
		}
	}
	return nil
}

// kill stops a member, with its pod, or with its data, too.
func (m *model) kill(n *node, evict, data bool) bool {
	if n == nil || m.pods[n.name] == nil {
		return false
	}
	n.leader = false
	m.pods[n.name].up = false
	if evict {
		delete(m.pods, n.name)
		if data || !m.disks[n.name].claim {
			delete(m.disks, n.name)
		}
	}
	return true
}

// survivable says whether enough voters have their data.
func (m *model) survivable() bool {
	all, _ := m.voters()
	with := 0
	for _, n := range all {
		if m.disks[n.name] != nil {
			with++
		}
	}
	return with >= etcd.Quorum(len(all))
}

func (m *model) trace() string { return strings.Join(m.events, "\n  ") }

// TestEveryChangeConverges walks every ordered pair of states: what is not
// refused converges, whatever fails before whichever step, and nothing that was
// acknowledged is lost; what is refused changes nothing that could lose it.
func TestEveryChangeConverges(t *testing.T) {
	all := states.Of(states.Axes())
	pairs, supported, refused, runs, lost := 0, 0, 0, 0, 0
	for _, from := range all {
		for _, to := range all {
			if from.Name == to.Name || from.Spec.Paused {
				continue
			}
			pairs++
			m := settledModel(from.Spec)
			m.spec = to.Spec
			refusals := etcd.Refusals(to.Spec, m.seen())
			steps, err := m.run(nothing)
			if err != nil {
				t.Fatalf("%s to %s: %v\n  %s", from.Name, to.Name, err, m.trace())
			}
			switch {
			case to.Spec.Paused:
				if steps > 0 {
					t.Fatalf("%s to %s: done while paused:\n  %s", from.Name, to.Name, m.trace())
				}
				supported++
				continue
			case len(refusals) > 0:
				refused++
				if m.blocked != etcd.RefusedChange {
					t.Fatalf("%s to %s: refused, but the plan says %q", from.Name, to.Name, m.blocked)
				}
				continue
			}
			supported++
			if err := m.settled(); err != nil {
				t.Fatalf("%s to %s: %v\n  %s", from.Name, to.Name, err, m.trace())
			}
			if !sampled(from, to) {
				continue
			}
			for at := range steps + 1 {
				for _, f := range faults() {
					runs++
					if !withFault(t, from, to, at, f) {
						lost++
					}
				}
			}
		}
	}
	t.Logf("%d pairs: %d supported, %d refused; %d runs with a fault, %d of which lost a quorum of data and said so", pairs, supported, refused, runs, lost)
}

// withFault runs a change with one fault; false where it cost the quorum.
func withFault(t *testing.T, from, to states.State, at int, f fault) bool {
	t.Helper()
	m := settledModel(from.Spec)
	m.spec = to.Spec
	done, survivable := false, true
	members := 0
	_, err := m.run(func(step int) {
		if done || step < at {
			return
		}
		done = f.inject(m)
		survivable = m.survivable()
		members = len(m.members)
	})
	switch {
	case err == nil && survivable:
		err = m.settled()
	case err == nil && m.blocked != etcd.QuorumLost:
		err = fmt.Errorf("the quorum is lost for good, and the plan says %q", m.blocked)
	case err == nil && len(m.members) != members:
		err = fmt.Errorf("%d members were there when the quorum was lost, and %d are", members, len(m.members))
	}
	if err != nil {
		t.Fatalf("%s to %s, before step %d %s: %v\n  %s", from.Name, to.Name, at, f.name, err, m.trace())
	}
	return survivable
}

// TestEditsInMidOperation lets a second edit follow before the first has come
// to rest: what is not refused then converges, too, and what is refused then
// is not had by the detour.
func TestEditsInMidOperation(t *testing.T) {
	all := states.Of(states.Axes())
	random := rand.New(rand.NewPCG(1, 2))
	refused, converged := 0, 0
	for converged < 500 {
		from, over, to := all[random.IntN(len(all))], all[random.IntN(len(all))], all[random.IntN(len(all))]
		m := settledModel(from.Spec)
		if to.Spec.Paused || len(etcd.Refusals(over.Spec, m.seen())) > 0 {
			continue
		}
		m.spec = over.Spec
		steps, err := m.run(nothing)
		if err != nil {
			t.Fatal(err)
		}
		m, at := settledModel(from.Spec), random.IntN(steps+1)
		m.spec = over.Spec
		turn := func(step int) {
			if step == at && m.spec == over.Spec && len(etcd.Refusals(to.Spec, m.seen())) == 0 {
				m.spec = to.Spec
			}
		}
		if _, err := m.run(turn); err != nil {
			t.Fatalf("%s over %s to %s at %d: %v\n  %s", from.Name, over.Name, to.Name, at, err, m.trace())
		}
		if m.spec != to.Spec {
			refused++
			continue
		}
		if err := m.settled(); err != nil {
			t.Fatalf("%s over %s to %s at %d: %v\n  %s", from.Name, over.Name, to.Name, at, err, m.trace())
		}
		converged++
	}
	t.Logf("%d converged, %d were refused", converged, refused)
}

// TestAVersionThatDoesNotStartIsTakenBack upgrades to a version whose pods
// never come up, and back.
func TestAVersionThatDoesNotStartIsTakenBack(t *testing.T) {
	for _, from := range states.Of(states.Axes()) {
		bad := from.Spec.DeepCopy()
		v, _ := etcd.ParseVersion(bad.Version)
		v.Patch += 50
		bad.Version = v.String()
		m := settledModel(from.Spec)
		if from.Spec.Paused {
			continue
		}
		m.broken[v] = true
		m.spec = bad
		for range 40 {
			if err := m.tick(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := m.reconcile(); err != nil {
				t.Fatal(err)
			}
		}
		if all, healthy := m.voters(); len(all) != from.Spec.Size || healthy < len(all)-1 {
			t.Errorf("%s: a version that does not start was given to more than one member: %d of %d are healthy", from.Name, healthy, len(all))
		}
		if r := etcd.Refusals(from.Spec, m.seen()); len(r) > 0 {
			t.Errorf("%s: taking it back is refused: %v", from.Name, r)
		}
		m.spec = from.Spec
		if _, err := m.run(nothing); err != nil {
			t.Fatalf("%s: %v\n  %s", from.Name, err, m.trace())
		}
		if err := m.settled(); err != nil {
			t.Errorf("%s: %v\n  %s", from.Name, err, m.trace())
		}
	}
}

// TestAClusterIsFormedWhateverFails forms clusters from nothing.
func TestAClusterIsFormedWhateverFails(t *testing.T) {
	for _, to := range states.Of(states.Axes()) {
		if to.Spec.Paused {
			continue
		}
		for calls := range 30 {
			m := newModel(to.Spec)
			_, err := m.run(func(step int) {
				if step == calls/3 && m.crash < 0 {
					m.crash = calls % 3
				}
			})
			if err == nil {
				err = m.settled()
			}
			if err != nil {
				t.Fatalf("%s, the controller dying in step %d: %v\n  %s", to.Name, calls/3, err, m.trace())
			}
		}
	}
}

// sampled chooses one pair in many for what is tried with faults at every step,
// always the same.
func sampled(from, to states.State) bool {
	every := uint32(61)
	if testing.Short() {
		every = 509
	}
	h := fnv.New32a()
	fmt.Fprint(h, from.Name, to.Name)
	return h.Sum32()%every == 0
}
