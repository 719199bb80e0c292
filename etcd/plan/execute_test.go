package plan_test

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdmember "github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// errCrash unwinds a controller.
type errCrash struct{}

// call is one call of a controller: to etcd, or to the API server.
func (c *controller) call(f func()) {
	if c.crash == 0 {
		c.crash = -1
		panic(errCrash{})
	}
	if c.crash > 0 {
		c.crash--
	}
	f()
}

// survive lets another process continue after a crash.
func (c *controller) survive() {
	if r := recover(); r != nil {
		if _, ok := r.(errCrash); !ok {
			panic(r)
		}
		c.history.Forget(worldKey)
	}
}

// reconcile observes, decides, reports, and takes the step; between is what
// others do before the step.
func (w *world) reconcile(c *controller, between func()) (step *plan.Step) {
	defer c.survive()
	if w.api.held != "" {
		return w.reserved(c, between)
	}
	version, status := w.api.version, w.api.DeepCopy()
	o := w.look(c)
	o.RecordMembers(w.desired(), status)
	w.recordCertificates(o, status)
	p := c.decide(etcd.Raised(w.spec, o.Before), &o.Observation)
	w.last = p
	step = p.Now()
	o.RecordStep(status, step)
	between()
	if w.api.version != version {
		return step // the write of the status fails
	}
	w.api.ClusterStatus = *status
	w.api.version++
	if step == nil {
		return nil
	}
	w.events = append(w.events, step.String())
	if p, seen := w.pods[step.Member], o.Pods[step.Member]; p != nil && (seen == nil || string(seen.UID) != p.uid) {
		return step // not the observed pod
	}
	w.do(&worldSteps{w, c, o}, step)
	return step
}

// do has an executor execute a step.
func (w *world) do(e plan.Executor, s *plan.Step) {
	if err := s.Do(context.Background(), e); err != nil {
		w.violate("%w", err)
	}
}

// worldSteps executes the steps of the cluster's controller in the world.
type worldSteps struct {
	*world
	c *controller
	o *observe.Observed
}

var _ plan.Executor = (*worldSteps)(nil)

func (w *worldSteps) Wait(context.Context, plan.Step) error   { return nil }
func (w *worldSteps) Settle(context.Context, plan.Step) error { return nil }

func (w *worldSteps) NameFirstMember(context.Context, plan.Step) error {
	w.c.call(func() { w.api.MemberStatuses = []v1beta2.MemberStatus{{Name: w.name()}}; w.api.version++ })
	return nil
}

func (w *worldSteps) Bootstrap(_ context.Context, s plan.Step) error {
	if w.remembers() {
		w.violate("%s: a cluster that took writes is formed again", s)
	}
	w.c.call(func() { w.createPod(s.Member, s.Version, true); w.give(s.Member, w.o) })
	return nil
}

func (w *worldSteps) Record(context.Context, plan.Step) error {
	w.c.call(func() {
		w.o.RecordFormed(w.desired(), &w.api.ClusterStatus)
		w.api.version++
	})
	return nil
}

func (w *worldSteps) AddLearner(context.Context, plan.Step) error {
	w.addLearner(w.c)
	return nil
}

func (w *worldSteps) CatchUp(ctx context.Context, s plan.Step) error { return w.Recover(ctx, s) }

func (w *worldSteps) Recover(_ context.Context, s plan.Step) error {
	if w.pods[s.Member] == nil {
		w.comeBack(w.c, &s, w.member(s.Member))
		w.give(s.Member, w.o)
	}
	return nil
}

func (w *worldSteps) PinInitialState(_ context.Context, s plan.Step) error {
	w.c.call(func() { w.pods[s.Member].sealed = true })
	return nil
}

func (w *worldSteps) AddToService(_ context.Context, s plan.Step) error {
	w.c.call(func() { w.pods[s.Member].exposed = true })
	return nil
}

func (w *worldSteps) Promote(_ context.Context, s plan.Step) error {
	if n := w.member(s.Member); n != nil && n.learner && w.takesPart(n.name) && w.process(n.name).disk.has >= w.acknowledged-1 {
		w.c.call(func() { n.learner = false })
	}
	return nil
}

func (w *worldSteps) MoveLeader(_ context.Context, s plan.Step) error {
	if n := w.member(s.Member); n != nil && !n.learner && w.takesPart(n.name) {
		w.c.call(func() {
			w.process(n.name).disk.has = w.acknowledged // etcd hands over only then
			for _, other := range w.members {
				other.leader = other == n
			}
		})
	}
	return nil
}

func (w *worldSteps) Remove(_ context.Context, s plan.Step) error {
	w.remove(w.c, &s, w.member(s.Member))
	return nil
}

func (w *worldSteps) Upgrade(_ context.Context, s plan.Step) error {
	n, p := w.member(s.Member), w.pods[s.Member]
	w.mayRun(&s, n)
	w.takesAway(&s, n)
	if p != nil && p.target != s.Version {
		w.c.call(func() { p.target, p.up = s.Version, false })
	}
	return nil
}

func (w *worldSteps) Restart(_ context.Context, s plan.Step) error {
	if n, p := w.member(s.Member), w.pods[s.Member]; p != nil && !p.ending {
		w.ends(&s, n, p)
		w.takesAway(&s, n)
		w.c.call(func() { p.ending = true })
	}
	return nil
}

// Stop ends a pod whose data stays: a majority that goes with it is what the spec
// asks for.
func (w *worldSteps) Stop(_ context.Context, s plan.Step) error {
	p := w.pods[s.Member]
	if p == nil || p.ending {
		return nil
	}
	w.ends(&s, w.member(s.Member), p)
	if !w.spec.Hibernated && len(w.controllers) == 1 {
		w.violate("%s: nobody asked for it", s)
	}
	w.c.call(func() { p.ending = true })
	return nil
}

func (w *worldSteps) Resize(_ context.Context, s plan.Step) error {
	p := w.pods[s.Member]
	if p == nil || p.ending {
		return nil
	}
	if w.o.ByName(s.Member).Pod.Resize.Done {
		w.c.call(func() { p.revision, p.resize = podRevision(w.spec), nil })
		return nil
	}
	for name, other := range w.pods {
		if other != p && !other.ending && !equality.Semantic.DeepEqual(other.applied, other.resources) && w.member(name) != nil && len(w.controllers) == 1 {
			w.violate("%s: the resources of %s are being changed", s, name)
		}
	}
	w.c.call(func() {
		p.resize = &etcdmember.Resize{Revision: podRevision(w.spec), At: metav1.NewTime(w.o.Now)}
	})
	w.c.call(func() {
		if w.fixed {
			p.resize.Refused = "not served"
			return
		}
		p.resources = etcd.Resources(w.spec)
	})
	return nil
}

func (w *worldSteps) DeletePod(ctx context.Context, s plan.Step) error { return w.Restart(ctx, s) }

func (w *worldSteps) RetainUntil(_ context.Context, s plan.Step) error {
	w.setAside(w.c, &s, w.member(s.Member), w.o)
	return nil
}

func (w *worldSteps) Unretain(_ context.Context, s plan.Step) error {
	w.c.call(func() { w.claims[s.Member].aside = nil })
	return nil
}

func (w *worldSteps) DeleteClaim(_ context.Context, s plan.Step) error {
	w.deleteClaim(w.c, &s, w.member(s.Member))
	return nil
}

func (w *worldSteps) Adopt(context.Context, plan.Step) error {
	w.adoptClaims(w.c)
	return nil
}

// Reserve and Release are steps of a restore.

func (w *worldSteps) Reserve(context.Context, plan.Step) error { return nil }
func (w *worldSteps) Release(context.Context, plan.Step) error { return nil }

func (w *world) addLearner(c *controller) {
	connected := w.leader() != nil
	for _, n := range w.voters() {
		connected = connected && w.takesPart(n.name)
	}
	if !connected || slices.ContainsFunc(w.members, func(n *node) bool { return n.learner }) {
		return // etcd postpones it
	}
	c.call(func() { w.members = append(w.members, &node{name: w.name(), id: w.newID(), learner: true}) })
}

// comeBack recreates a member's pod: with its data, or, if it never ran, from
// nothing.
func (w *world) comeBack(c *controller, s *plan.Step, n *node) {
	if w.pods[s.Member] != nil {
		return
	}
	claim := w.claims[s.Member]
	switch {
	case claim != nil && claim.ending:
	case n == nil && claim != nil: // the status lists one that has since been removed
		c.call(func() { w.createPod(s.Member, s.Version, false); w.pods[s.Member].sealed = true })
	case n == nil:
	case claim != nil && n.ran != (etcd.Version{}):
		w.mayRun(s, n)
		c.call(func() { w.createPod(n.name, s.Version, false); w.pods[n.name].sealed = true })
	case n.ran == (etcd.Version{}):
		c.call(func() { w.createPod(n.name, s.Version, false) })
	}
}

// remove checks a removal against etcd's rules and the invariants.
func (w *world) remove(c *controller, s *plan.Step, n *node) {
	if n == nil || w.leader() == nil {
		return
	}
	left, active := 0, 0
	for _, other := range w.voters() {
		if other != n {
			left++
			if w.takesPart(other.name) {
				active++
			}
		}
	}
	if !n.learner && w.takesPart(n.name) && active < etcd.Quorum(left) {
		return // etcd refuses
	}
	if !s.Cause.Asked() && !n.learner {
		if w.takesPart(n.name) {
			w.violate("%s: it takes part in the cluster", s)
		}
		if p := w.pods[n.name]; p != nil && !p.up && !w.gone[n.name] && !w.detached[n.name] && p.disk.member == n.name && (w.absent[p.target] || w.broken[p.revision]) && !w.forgot {
			w.violate("%s: a change costs a member", s)
		}
	}
	if s.Cause.Asked() && !n.learner && left < w.spec.Size {
		w.violate("%s: nobody asked for it", s)
	}
	c.call(func() { w.members = slices.DeleteFunc(w.members, func(other *node) bool { return other == n }) })
}

// ends reports whether deleting a pod also deletes a voter's data.
func (w *world) ends(s *plan.Step, n *node, p *pod) {
	if n == nil || n.learner || p.disk.member != n.name || w.api.held != "" || !w.api.formed() {
		return
	}
	claim := w.claims[n.name]
	if !p.ended && (p.claimUID == "" || claim == nil || claim.ending || claim.uid != p.claimUID) {
		w.violate("%s: the data of a voter goes with its pod", s)
	}
}

// takesAway reports whether the controller's own change breaks the quorum.
func (w *world) takesAway(s *plan.Step, n *node) {
	if n == nil || n.learner || !w.takesPart(n.name) || len(w.controllers) > 1 || len(w.voters()) < 3 {
		return
	}
	left := 0
	for _, other := range w.voters() {
		if other != n && w.takesPart(other.name) && w.pods[other.name] != nil && !w.pods[other.name].ending {
			left++
		}
	}
	if left < etcd.Quorum(len(w.voters())) {
		w.violate("%s: the majority goes with it", s)
	}
}

// ranUnseen reports whether a member has run a newer version than the
// controller ever observed.
func (w *world) ranUnseen(n *node) bool {
	k := w.api.known(n.name)
	return k != nil && etcd.ReadVersion(k.Version).Compare(n.ran) < 0
}

func (w *world) setAside(c *controller, s *plan.Step, n *node, o *observe.Observed) {
	claim := w.claims[s.Member]
	if claim == nil || claim.aside != nil {
		return
	}
	if n != nil && s.Cause != plan.Restored && w.api.formed() {
		w.violate("%s: etcd lists its member", s)
	}
	c.call(func() { claim.aside = &aside{cause: s.Cause, until: o.Now.Add(claimGrace)} })
	if n := w.unasked(); n > plan.DefaultUnasked {
		w.violate("%s: %d claims are set aside without being asked for", s, n)
	}
}

func (w *world) deleteClaim(c *controller, s *plan.Step, n *node) {
	claim := w.claims[s.Member]
	switch {
	case claim == nil:
		return
	case claim.aside == nil || claim.aside.until.After(w.now.Add(c.clock)):
		w.violate("%s: it was not set aside for long enough", s)
	case n != nil:
		w.violate("%s: etcd lists its member", s)
	case w.restore.holds(claim.aside):
		w.violate("%s: the restore that keeps it is there", s)
	case !w.survivable():
		w.violate("%s: it may be the last copy", s)
	}
	c.call(func() { delete(w.claims, s.Member) })
}

// adoptClaims forms the cluster from the claims of a former one.
func (w *world) adoptClaims(c *controller) {
	c.call(func() {
		w.api.MemberStatuses = nil
		for _, name := range sortedKeys(w.claims) {
			claim := w.claims[name]
			if claim.retained {
				claim.retained = false
				n := w.member(name)
				w.api.MemberStatuses = append(w.api.MemberStatuses, v1beta2.MemberStatus{
					Name: name, ID: observe.Hex(n.id), Version: n.ran.String(), TargetVersion: n.ran.String(), Claim: name, ClaimUID: claim.uid, StorageRevision: claim.storageRevision,
				})
			}
		}
		w.api.ClusterID, w.api.TLS = observe.Hex(w.id), etcd.Encrypted(w.spec)
		w.api.version++
	})
}
