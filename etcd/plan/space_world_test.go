package plan_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// unit is how much a write adds to the databases.
const unit = 1 << 20

// defragmentTicks is how long a defragmentation takes, and after how many ticks the
// controller gives it up: it may last longer.
const defragmentTicks = 3

// A room is the space of the world's databases.
type room struct {
	// history is the first revision that is not compacted, in writes.
	history int
	// said is what etcd says of it: a compaction shows with the next write.
	said  int
	alarm bool
	// busy are the members that are being defragmented, by when that ends.
	busy map[string]time.Time
}

// spaced returns the states with and without spec.space.
func spaced() []states.State {
	return states.Of([][]states.Variant{
		{states.Size(1), states.Size(3)}, {states.Version("3.6.16"), states.Version("3.7.3")}, {states.Claims("1Gi")}, {states.Label("a"), states.Label("b")},
		{states.Space("no space", nil), states.Space("recovery", &v1beta2.SpacePolicy{
			QuotaBackendBytes: resource.NewQuantity(40*unit, resource.BinarySI),
			RecoverNoSpace:    &v1beta2.NoSpaceRecovery{KeepRevisions: ptr.To[int64](5)},
		}), states.Space("defragmentation", &v1beta2.SpacePolicy{
			QuotaBackendBytes: resource.NewQuantity(60*unit, resource.BinarySI),
			Defragmentation: &v1beta2.Defragmentation{
				Schedule: "30 * * * *", TimeoutSeconds: int32(2 * minute / time.Second),
				Fragmentation: &v1beta2.Fragmentation{Percent: 50, MinimumFree: resource.NewQuantity(10*unit, resource.BinarySI)},
			},
			RecoverNoSpace: &v1beta2.NoSpaceRecovery{KeepRevisions: ptr.To[int64](20)},
		}), states.Space("growing quota", &v1beta2.SpacePolicy{
			QuotaBackendBytes: resource.NewQuantity(30*unit, resource.BinarySI),
			RecoverNoSpace:    &v1beta2.NoSpaceRecovery{KeepRevisions: ptr.To[int64](60), MaximumQuotaBackendBytes: resource.NewQuantity(200*unit, resource.BinarySI)},
		})},
	})
}

func (w *world) wantedSpace() string {
	revision, _ := w.spaceOf()
	return revision
}

// oldSpace reports whether the member's pod must be created again for spec.space.
func (w *world) oldSpace(p *pod) bool {
	taken := w.forgot && w.api.Space != nil && w.api.Space.Deferred
	return p.spaceRevision != w.wantedSpace() && !taken
}

// spaceOf returns what a pod that is created now gets.
func (w *world) spaceOf() (string, int64) {
	spec := etcd.Raised(w.spec, &w.api.ClusterStatus)
	if spec.Space == nil {
		return "", 0 // etcd's quota is never reached
	}
	return etcd.SpaceRevision(spec), etcd.Quota(spec)
}

// defragmented reports whether a member is being defragmented.
func (w *world) defragmented(name string) bool { return w.now.Before(w.space.busy[name]) }

// inUse is what the databases must hold.
func (w *world) inUse() int64 { return int64(w.acknowledged - w.space.history) }

// grow lets the databases have what is written, raises the alarm, and ends
// defragmentations.
func (w *world) grow() {
	for name, until := range w.space.busy {
		if w.now.Before(until) && w.runs(name) {
			continue
		}
		if p := w.process(name); p != nil {
			p.disk.size = w.inUse()
		}
		delete(w.space.busy, name)
	}
	w.space.history = min(w.space.history, w.acknowledged)
	for _, n := range w.members {
		if p := w.process(n.name); p != nil {
			p.disk.size = max(p.disk.size, w.inUse())
			w.space.alarm = w.space.alarm || p.quota > 0 && p.disk.size >= p.quota/unit
		}
	}
}

// saysSpace completes what a member says about itself.
func (a *answering) saysSpace(name string, s *pb.StatusResponse) {
	p := a.pods[name]
	s.Header.Revision = int64(a.acknowledged)
	s.RaftIndex, s.RaftAppliedIndex = uint64(a.acknowledged), uint64(p.disk.has)
	s.DbSize, s.DbSizeInUse, s.DbSizeQuota = p.disk.size*unit, min(p.disk.size, int64(a.acknowledged-a.space.said))*unit, p.quota
	if p.quota == 0 {
		s.DbSizeQuota = 1 << 40
	}
	if a.space.alarm {
		s.Errors = append(s.Errors, fmt.Sprintf("memberID:%d alarm:NOSPACE ", a.member(name).id))
	}
}

// spaceSettled describes what is left to do for the space of databases.
func (w *world) spaceSettled() error {
	policy := w.spec.Space
	if policy == nil {
		return nil
	}
	if policy.RecoverNoSpace != nil && w.space.alarm {
		return errors.New("the alarm is raised")
	}
	if d := policy.Defragmentation; d != nil && w.api.Space != nil && w.api.Space.NextDefragmentation != nil {
		if w.now.Sub(w.api.Space.NextDefragmentation.Time) > 0 {
			return errors.New("a scheduled defragmentation is due")
		}
	}
	return nil
}

// explained reports whether the status says what keeps the controller from it.
func (w *worldSteps) Compact(_ context.Context, s plan.Step) error {
	if len(w.controllers) == 1 && !w.space.alarm {
		w.violate("%s: no alarm is raised", s)
	}
	if w.spec.Space == nil || w.spec.Space.RecoverNoSpace == nil {
		w.violate("%s: the spec does not allow it", s)
	} else if kept := int64(w.acknowledged) - s.Revision; kept < min(*w.spec.Space.RecoverNoSpace.KeepRevisions, int64(w.acknowledged)) {
		w.violate("%s: it keeps %d revisions", s, kept)
	}
	w.c.call(func() { w.space.history = max(w.space.history, int(s.Revision)) })
	w.c.call(func() {
		if w.api.Space.NoSpace != nil {
			w.api.Space.NoSpace.Compacted = ptr.To(metav1.NewTime(w.now.Add(w.c.clock)))
			w.api.version++
		}
	})
	return nil
}

// Defragment checks that nobody else is down or changed meanwhile.
func (w *worldSteps) Defragment(_ context.Context, s plan.Step) error {
	n := w.member(s.Member)
	if n == nil || w.pods[n.name] == nil {
		return nil
	}
	if len(w.controllers) == 1 {
		w.mayDefragment(&s, n)
	}
	w.c.call(func() {
		if w.space.busy == nil {
			w.space.busy = map[string]time.Time{}
		}
		w.space.busy[n.name] = w.now.Add(time.Duration(1+w.random.IntN(defragmentTicks)) * minute)
	})
	w.c.call(func() {
		if k := w.api.known(n.name); k != nil {
			k.LastDefragmentation = ptr.To(metav1.NewTime(w.now.Add(w.c.clock)))
			w.api.version++
		}
	})
	return nil
}

func (w *worldSteps) mayDefragment(s *plan.Step, n *node) {
	for _, other := range w.members {
		p := w.pods[other.name]
		switch {
		case other.learner:
			w.violate("%s: %s is a learner", s, other.name)
		case w.defragmented(other.name):
			w.violate("%s: %s is being defragmented", s, other.name)
		case !w.takesPart(other.name) || p == nil || p.ending:
			w.violate("%s: %s is down", s, other.name)
		case p.target != other.ran:
			w.violate("%s: %s is being upgraded", s, other.name)
		case n.leader && other != n:
			w.violate("%s: it leads, and %s could", s, other.name)
		}
	}
}

func (w *worldSteps) Disarm(_ context.Context, s plan.Step) error {
	for _, n := range w.members {
		if p := w.process(n.name); p != nil && p.quota > 0 && p.disk.size >= p.quota/unit && len(w.controllers) == 1 {
			w.violate("%s: the database of %s has %d of %d", s, n.name, p.disk.size, p.quota/unit)
		}
	}
	w.c.call(func() { w.space.alarm = false })
	return nil
}

func (w *worldSteps) RaiseQuota(_ context.Context, s plan.Step) error {
	most := w.spec.Space.RecoverNoSpace.MaximumQuotaBackendBytes
	if most == nil || s.Bytes > most.Value() || s.Bytes <= etcd.Quota(w.spec) {
		w.violate("%s: the spec does not allow it", s)
	}
	w.c.call(func() {
		w.api.Space.RaisedQuota = &v1beta2.RaisedQuota{From: *resource.NewQuantity(etcd.Quota(w.spec), resource.BinarySI), To: *resource.NewQuantity(s.Bytes, resource.BinarySI)}
		w.api.version++
	})
	return nil
}
