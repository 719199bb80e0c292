package plan_test

import (
	"context"
	"testing"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// A restoring is an EtcdRestore in the world.
type restoring struct {
	seed string // the restored member's name
	at   int    // the last write in the backup
	// forced: it may replace a working cluster.
	forced            bool
	asked, begun      bool // as in the annotation
	recorded, adopted bool
	done              bool // it has released the cluster
	deleted           bool // somebody deleted it
}

// holds reports whether it keeps a claim set aside.
func (r *restoring) holds(a *aside) bool { return r != nil && a.by == r }

// restoreFault makes a person restore a backup, and delete the EtcdRestore
// later.
func restoreFault(name string, forced bool) fault {
	return fault{
		name: name,
		inject: func(w *world) bool {
			if w.restore != nil || !w.api.formed() {
				return false
			}
			w.restore = &restoring{at: max(0, w.acknowledged-w.random.IntN(4)), forced: forced}
			return true
		},
		heal: func(w *world) {
			if w.restore != nil {
				w.restore.deleted = true
			}
		},
	}
}

// goOn advances the restore like its controller, which reserves the cluster,
// starts the restored member, and asks the cluster's controller to replace the
// others.
func (w *world) goOn(c *controller) {
	r := w.restore
	switch {
	case r == nil:
		return
	case r.done:
		if r.deleted {
			w.restore = nil
		}
		return
	case r.deleted && !r.asked && !r.recorded && !w.touched():
		w.abandon()
		return
	}
	defer c.survive()
	if w.api.held != "" && w.api.left && !r.adopted {
		w.startSeed(r)
	}
	version := w.api.version
	o := w.lookRestore(c)
	p := c.decide(w.spec, &o.Observation)
	step := p.Now()
	switch {
	case p.Blocked == plan.ClusterRunning && r.asked:
		if w.api.version == version && !r.begun {
			c.call(func() { r.asked = false; w.api.version++ })
		}
	case step == nil: // its own status reports it
	case step.Action == plan.Reserve, step.Action == plan.Release:
		w.events = append(w.events, "restore: "+step.String())
		w.do(&switchOver{worldSteps{w, c, o}, r}, step)
	case step.Action != plan.Wait && !r.asked && w.api.version == version:
		c.call(func() { r.asked = true; w.api.version++ })
	}
}

// reserved takes the next step of the restore that has reserved the cluster, if
// it asks for it.
func (w *world) reserved(c *controller, between func()) *plan.Step {
	if !w.api.left {
		w.api.left = true
		w.api.version++
	}
	r := w.restore
	if r == nil || !r.asked {
		return nil
	}
	version := w.api.version
	o := w.lookRestore(c)
	p := c.decide(w.spec, &o.Observation)
	step := p.Now()
	between()
	if step == nil || step.Action == plan.Wait || step.Action == plan.Release || step.Action == plan.Reserve {
		return nil
	}
	if !r.begun && !w.rash {
		if w.api.version != version {
			return nil // the write fails
		}
		c.call(func() { r.begun = true; w.api.version++ })
	}
	w.events = append(w.events, "restore: "+step.String())
	if !r.asked || w.restore != r {
		w.violate("%s: the restore has withdrawn", step)
	}
	w.do(&switchOver{worldSteps{w, c, o}, r}, step)
	return step
}

// TestASwitchoverThatWasWithdrawn_IsNotExecuted has the only member come back, and
// the restore withdraw, after the cluster's controller has decided its first step.
func TestASwitchoverThatWasWithdrawn_IsNotExecuted(t *testing.T) {
	for name, rash := range map[string]bool{"it begins first": false, "it does not begin first, a mistake": true} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld(spec(size(1), claims("1Gi")))
			c := w.controllers[0]
			w.rash, w.restore = rash, &restoring{at: w.acknowledged}
			member := w.members[0].name
			w.frozen[member] = true
			for minutes := 0; !w.restore.asked; minutes++ {
				if minutes > 30 {
					t.Fatal("the restore does not ask for its switchover")
				}
				w.tick()
				w.reconcile(c, func() {})
				w.goOn(c)
			}
			w.tick()
			w.reconcile(c, func() {
				delete(w.frozen, member)
				w.tick()
				w.goOn(c)
			})
			if w.restore.asked || (w.violated != nil) != rash {
				t.Errorf("the restore asks: %t; violated is: %v", w.restore.asked, w.violated)
			}
		})
	}
}

// touched reports whether anything of the old members was set aside for it.
func (w *world) touched() bool {
	for _, c := range w.claims {
		if c.aside != nil && c.aside.by == w.restore {
			return true
		}
	}
	return false
}

// abandon releases the unchanged cluster.
func (w *world) abandon() {
	if s := w.restore.seed; s != "" {
		w.endPod(s)
		w.loseClaim(s)
	}
	w.api.held, w.api.left, w.restore = "", false, nil
	w.api.version++
}

// lookRestore is the observation of a switchover. The controllers of clusters and
// of restores share their history.
func (w *world) lookRestore(c *controller) *observe.Observed {
	r := w.restore
	seed := w.pods[r.seed]
	o := w.look(c)
	o.Restore = &plan.Restore{
		Name: "back", Seed: r.seed, Reserved: w.api.held != "", Acknowledged: w.api.left, Forced: r.forced,
		Proved: seed != nil && seed.up, DataMoved: r.begun || w.touched(), Recorded: r.recorded, Adopted: r.adopted,
	}
	o.OldMembers()
	return o
}

// startSeed starts the restored member, and restarts it if it ended.
func (w *world) startSeed(r *restoring) {
	p := w.pods[r.seed]
	if r.seed == "" {
		r.seed = w.name()
	}
	if p == nil {
		w.createPod(r.seed, etcd.WantedVersion(w.spec), false)
		p = w.pods[r.seed]
		p.sealed, p.seed = true, true
		if p.disk.member == "" { // the first time, or its volume went with its pod
			*p.disk = disk{member: r.seed, has: r.at}
			if r.recorded {
				w.acknowledged = r.at
			}
		}
	}
	p.up = !p.ending && (p.up || w.random.IntN(2) == 0) // it takes a while
}

// switchOver executes the steps of a restore in the world, and checks that it
// does not violate its invariants.
type switchOver struct {
	worldSteps
	r *restoring
}

var _ plan.Executor = (*switchOver)(nil)

func (w *switchOver) Reserve(context.Context, plan.Step) error {
	w.c.call(func() { w.api.held = "back"; w.api.version++ })
	return nil
}

func (w *switchOver) RetainUntil(_ context.Context, s plan.Step) error {
	if !w.r.forced && !w.touched() && w.witnessed() {
		w.violate("%s: a restore takes the place of a cluster that works", s)
	}
	if claim := w.claims[s.Member]; claim != nil && claim.aside == nil {
		w.c.call(func() { claim.aside = &aside{s.Cause, w.now.Add(w.c.clock).Add(claimGrace), w.r} })
	}
	return nil
}

func (w *switchOver) DeletePod(_ context.Context, s plan.Step) error {
	if claim := w.claims[s.Member]; claim != nil && claim.aside == nil {
		w.violate("%s: it ends before its claim is set aside", s)
	}
	if p := w.pods[s.Member]; p != nil {
		w.c.call(func() { p.ending = true })
	}
	return nil
}

func (w *switchOver) Record(_ context.Context, s plan.Step) error {
	w.c.call(func() { w.recordSeed(&s, w.r) })
	return nil
}

func (w *switchOver) Adopt(context.Context, plan.Step) error {
	w.c.call(func() { w.r.adopted = true; w.pods[w.r.seed].seed = false })
	return nil
}

func (w *switchOver) Release(context.Context, plan.Step) error {
	w.c.call(func() { w.r.done, w.api.held, w.api.left = true, "", false; w.api.version++ })
	return nil
}

// witnessed reports whether the cluster works, and some witness could tell so of
// a majority: the controller's client, another member, or a kubelet.
func (w *world) witnessed() bool {
	if w.leader() == nil {
		return false
	}
	seen := 0
	for _, n := range w.voters() {
		client := w.hears(n.name)
		kubelet := w.takesPart(n.name) && w.pods[n.name] != nil && w.pods[n.name].up && !w.pods[n.name].ending && !w.detached[n.name] && !w.gone[n.name]
		if lie, ok := w.lies[n.name]; ok {
			kubelet = kubelet && lie
		}
		peers := false
		for _, other := range w.members {
			peers = peers || other != n && w.runs(other.name) && w.reach(controllerParty, other.name) && w.runs(n.name) && w.reach(other.name, n.name)
		}
		if client || kubelet || peers {
			seen++
		}
	}
	return seen >= etcd.Quorum(len(w.voters()))
}

// recordSeed makes the restored member the cluster: later writes than the
// backup are lost, as requested.
func (w *world) recordSeed(s *plan.Step, r *restoring) {
	seed := w.pods[r.seed]
	if seed == nil || !seed.up {
		w.violate("%s: the restored member was not proved", s)
		return
	}
	for name := range w.pods {
		if name != r.seed {
			w.violate("%s: the old member %s runs beside it", s, name)
		}
	}
	w.id = w.newID()
	w.members = []*node{{name: r.seed, id: w.newID(), ran: seed.target}}
	w.acknowledged, r.recorded = seed.disk.has, true
	w.version = etcd.Version{Major: seed.target.Major, Minor: seed.target.Minor}
	w.storage, w.downgrade = w.version, etcd.Version{}
	k := v1beta2.MemberStatus{
		Name: r.seed, ID: observe.Hex(w.members[0].id), Version: seed.target.String(), TargetVersion: seed.target.String(),
		PodRevision: seed.revision, StorageRevision: seed.storageRevision,
	}
	if seed.claimUID != "" {
		k.Claim = r.seed
	}
	w.api.ClusterStatus = v1beta2.ClusterStatus{ClusterID: observe.Hex(w.id), TLS: etcd.Encrypted(w.spec), MemberStatuses: []v1beta2.MemberStatus{k}, CurrentVersion: seed.target.String(), Space: &v1beta2.SpaceStatus{}}
	w.api.version++
}
