package observe

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/policies/cron"
)

const (
	// compactionTimeout is how long a compaction may take until the space is free.
	compactionTimeout = time.Minute
	// SpaceRetry is how long the controller waits after a failed step for space: a
	// member that is defragmented answers nothing.
	SpaceRetry = 5 * time.Minute
)

// Compact implements EtcdClient.
func (c *connection) Compact(ctx context.Context, revision int64) error {
	ctx, cancel := context.WithTimeout(ctx, compactionTimeout)
	defer cancel()
	_, err := c.Client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	return err
}

// Defragment implements EtcdClient.
func (c *connection) Defragment(ctx context.Context, clientURL string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := c.Client.Defragment(ctx, clientURL)
	return err
}

// DisarmNoSpace implements EtcdClient.
func (c *connection) DisarmNoSpace(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	raised, err := c.AlarmList(ctx)
	if err != nil {
		return err
	}
	for _, alarm := range raised.Alarms {
		if alarm.Alarm.String() != string(plan.NoSpace) {
			continue
		}
		if _, err := c.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm)); err != nil {
			return err
		}
	}
	return nil
}

// readDatabase reads what a member says of its database and its log. Before etcd
// 3.6 members do not report their quota.
func (f *reading) readDatabase(m *plan.Member, s *clientv3.StatusResponse) {
	m.Database = &plan.Database{Size: s.DbSize, InUse: s.DbSizeInUse, Quota: s.DbSizeQuota}
	if m.Database.Quota == 0 {
		m.Database.Quota = etcd.Quota(etcd.Raised(&f.Cluster.Spec, f.Before))
	}
	f.Space.Revision = max(f.Space.Revision, s.Header.Revision)
}

// spaceRevision returns the hash of what the pod was created with. If this
// release takes running members over from one without spec.space, whatever they
// run counts as current, until spec.space changes: an upgrade restarts no member.
func (f *reading) spaceRevision(p *corev1.Pod) string {
	if f.takenOver() {
		return f.wantedSpace()
	}
	return p.Annotations[wellknown.AnnotationEtcdSpaceRevision]
}

func (f *reading) wantedSpace() string {
	return etcd.SpaceRevision(etcd.Raised(&f.Cluster.Spec, f.Before))
}

// takenOver reports whether another release has written the status last, or
// another object of the name had the members, or spec.space is as it was then.
func (f *reading) takenOver() bool {
	if f.Before.Space == nil {
		return len(f.Pods)+len(f.Objects.Orphans) > 0
	}
	return f.Before.Space.Deferred && f.Before.Space.DeferredRevision == f.wantedSpace()
}

// readSpace reads what the status knows of the space of databases.
func (f *reading) readSpace() {
	applied := uint64(0)
	for name, a := range f.parts.Answers {
		if m := f.found[name]; a.Status != nil && m != nil && !m.Stranger {
			applied = max(applied, a.Status.RaftIndex)
		}
	}
	for i := range f.Members {
		m := &f.Members[i]
		if a := f.parts.Answers[m.Name]; a.Status != nil && !m.Stranger {
			m.Lag = applied - min(applied, a.Status.RaftAppliedIndex)
		}
	}
	f.Space.Taken = f.takenOver()
	st := f.Before.Space
	if st == nil {
		return
	}
	if d := st.Defragmenting; d != nil {
		f.Space.Defragmenting, f.Space.Until = d.Member, d.Until.Time
	}
	if st.NoSpace != nil && st.NoSpace.Compacted != nil {
		f.Space.Compacted = st.NoSpace.Compacted.Time
	}
	if st.NextDefragmentation != nil && !st.NextDefragmentation.After(f.Now) && st.Schedule == scheduleOf(&f.Cluster.Spec) {
		f.Space.Due = st.NextDefragmentation.Time
	}
	if st.Failure != nil && f.Now.Sub(st.Failure.Time.Time) < SpaceRetry {
		f.Space.Failed = &plan.Stall{Reason: st.Failure.Reason, Message: st.Failure.Message}
	}
}

// scheduleOf returns the schedule with its time zone; "" without one.
func scheduleOf(spec *etcdv1beta2.ClusterSpec) string {
	if spec.Space == nil || spec.Space.Defragmentation == nil || spec.Space.Defragmentation.Schedule == "" {
		return ""
	}
	d := spec.Space.Defragmentation
	if d.TimeZone == nil {
		return d.Schedule
	}
	return d.Schedule + " " + *d.TimeZone
}

// recordSpace writes what is known of the space of databases, along with the step.
func (s *Observed) recordSpace(st *etcdv1beta2.ClusterStatus, t *plan.Step) {
	was := s.Before.Space
	if was == nil {
		was = &etcdv1beta2.SpaceStatus{}
	}
	is := was.DeepCopy()
	is.Deferred, is.DeferredRevision = s.Space.Taken, ""
	if s.Space.Taken {
		is.DeferredRevision = etcd.SpaceRevision(etcd.Raised(&s.Cluster.Spec, s.Before))
	}
	now := metav1.NewTime(s.Now).Rfc3339Copy()
	switch {
	case len(s.Alarms[plan.NoSpace]) == 0 && s.AlarmsKnown:
		is.NoSpace = nil
	case len(s.Alarms[plan.NoSpace]) > 0 && is.NoSpace == nil:
		is.NoSpace = &etcdv1beta2.NoSpaceStatus{Since: now}
	}
	if is.Failure != nil && s.Space.Failed == nil {
		is.Failure = nil
	}
	switch {
	case t != nil && t.Action == plan.Defragment:
		until := metav1.NewTime(s.Now.Add(etcd.DefragmentationTimeout(&s.Cluster.Spec))).Rfc3339Copy()
		is.Defragmenting = &etcdv1beta2.DefragmentingMember{Member: t.Member, Until: until}
	case t == nil || t.Action != plan.Wait || t.Member != s.Space.Defragmenting:
		is.Defragmenting = nil
	}
	s.recordSchedule(is)
	st.Space = is
}

// recordSchedule writes when the next defragmentation is due: after the last one
// once every member has been defragmented, or when the schedule changes.
func (s *Observed) recordSchedule(is *etcdv1beta2.SpaceStatus) {
	text := scheduleOf(&s.Cluster.Spec)
	if text == "" {
		is.Schedule, is.NextDefragmentation = "", nil
		return
	}
	if text == is.Schedule && is.NextDefragmentation != nil && (is.NextDefragmentation.After(s.Now) || !s.defragmentedSince(is.NextDefragmentation.Time)) {
		return
	}
	d := s.Cluster.Spec.Space.Defragmentation
	is.Schedule, is.NextDefragmentation = text, nil
	schedule, err := cron.ParseNew(d.Schedule, ptr.Deref(d.TimeZone, ""))
	if err != nil {
		s.BadSchedule = "spec.space.defragmentation: " + err.Error()
		return
	}
	if next := schedule.Next(s.Now); !next.IsZero() {
		is.NextDefragmentation = ptr.To(metav1.NewTime(next).Rfc3339Copy())
	}
}

// defragmentedSince reports whether every member has been defragmented since then.
func (s *Observed) defragmentedSince(then time.Time) bool {
	for i := range s.Members {
		if m := &s.Members[i]; m.Listed && m.Defragmented.Before(then) {
			return false
		}
	}
	return true
}
