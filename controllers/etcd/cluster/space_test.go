package cluster_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// recoveries is how often the test of full speed waits for the alarm to end.
var recoveries = int64(2)

func (s *scene) told(reason string) bool {
	var events eventsv1.EventList
	s.must(shared.client.List(s.ctx, &events, client.InNamespace(s.namespace)))
	for _, e := range events.Items {
		if e.Reason == reason {
			return true
		}
	}
	return false
}

// TestNoSpaceAtFullSpeed_EndsWithoutAPerson has writers fill small databases again
// and again.
func TestNoSpaceAtFullSpeed_EndsWithoutAPerson(t *testing.T) {
	s := newScene(t)
	spec := onClaims(3)
	spec.Space = &etcdv1beta2.SpacePolicy{
		QuotaBackendBytes: ptr.To(resource.MustParse("16Mi")),
		RecoverNoSpace:    &etcdv1beta2.NoSpaceRecovery{KeepRevisions: ptr.To[int64](100)},
	}
	s.create(spec)
	s.settled(3, v36)
	pods := podUIDs(s)
	f := s.flood(4)
	f.eventuallyIn(time.Duration(recoveries)*2*time.Minute, "writes go on after the alarm", func() bool { return f.ended.Load() >= recoveries })
	lost := f.lost()
	s.until("the alarm has ended", func(c *etcdv1beta2.EtcdCluster) bool {
		return condition(c, etcdv1beta2.ClusterNoSpace) == corev1.ConditionFalse && condition(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionTrue && c.Status.Step == ""
	})
	t.Logf("%d writes acknowledged, %d refused, acknowledged writes lost: %d; the alarm ended after %v", f.writes.Load(), f.refusals.Load(), lost, f.outages)
	if lost > 0 || f.refusals.Load() == 0 {
		t.Error("writes were lost, or none was refused")
	}
	for _, reason := range []string{"NoSpace", "HistoryCompacted", "MemberDefragmented", "LeaderMoved", "AlarmDisarmed"} {
		if !s.told(reason) {
			t.Errorf("no Event has the reason %s", reason)
		}
	}
	for _, m := range s.cluster().Status.MemberStatuses {
		if m.LastDefragmentation == nil {
			t.Errorf("the status does not say when %s was defragmented", m.Name)
		}
	}
	if now := podUIDs(s); now != pods {
		t.Errorf("the pods were %s, and are %s", pods, now)
	}
}

func podUIDs(s *scene) string {
	text := ""
	for _, p := range s.pods() {
		text += p.Name + "=" + string(p.UID) + " "
	}
	return text
}

// TestANewCluster_GetsSpaceThatSuitsItsClaims creates clusters with and without
// spec.space; the flags of a running one change member by member.
func TestANewCluster_GetsSpaceThatSuitsItsClaims(t *testing.T) {
	s := newScene(t)
	spec := onClaims(1)
	spec.Space = &etcdv1beta2.SpacePolicy{AutoCompaction: &etcdv1beta2.AutoCompaction{Mode: "revision", Retention: "500"}}
	s.create(spec)
	s.settled(1, v36)
	space := s.cluster().Spec.Space
	if q := space.QuotaBackendBytes; q == nil || q.String() != "256Mi" || space.AutoCompaction.Retention != "500" {
		t.Errorf("the spec has %+v", space)
	}
	quota := func() int64 { // the pods have other addresses each time
		ctx, cancel := context.WithTimeout(s.ctx, 2*time.Second)
		defer cancel()
		etcd, err := s.client(ctx)
		if err != nil {
			return 0
		}
		defer func() { _ = etcd.Close() }()
		status, err := etcd.Status(ctx, etcd.Endpoints()[0])
		if err != nil {
			return 0
		}
		return status.DbSizeQuota
	}
	if quota() != 256<<20 {
		t.Errorf("the member's quota is %d", quota())
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Space.QuotaBackendBytes = ptr.To(resource.MustParse("300Mi"))
	})
	s.eventually("the member has the new quota", func() bool { return quota() == 300<<20 })
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Space = nil })
	s.eventually("the member has etcd's quota", func() bool { return quota() == 2<<30 })
	s.settled(1, v36)
	if s.cluster().Spec.Space != nil {
		t.Error("the controller wrote spec.space again")
	}
}

// TestDefragmentationOnNeed_MovesTheLeadershipFirst frees most of the databases.
func TestDefragmentationOnNeed_MovesTheLeadershipFirst(t *testing.T) {
	s := restScene(t)
	spec := onClaims(3)
	spec.Space = &etcdv1beta2.SpacePolicy{Defragmentation: &etcdv1beta2.Defragmentation{
		Fragmentation: &etcdv1beta2.Fragmentation{Percent: 50, MinimumFree: ptr.To(resource.MustParse("4Mi"))},
	}}
	s.create(spec)
	s.settled(3, v36)
	etcd, err := s.client(s.ctx)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	revision := int64(0)
	for range 20 {
		put, err := etcd.Put(s.ctx, "key", strings.Repeat("x", 1<<20))
		s.must(err)
		revision = put.Header.Revision
	}
	_, err = etcd.Compact(s.ctx, revision, clientv3.WithCompactPhysical())
	s.must(err)
	s.until("every member is defragmented", func(c *etcdv1beta2.EtcdCluster) bool {
		_, _ = etcd.Put(s.ctx, "another", "value") // only then etcd counts what is free
		for _, m := range c.Status.MemberStatuses {
			if m.LastDefragmentation == nil {
				return false
			}
		}
		return c.Status.Step == ""
	})
	if !s.told("LeaderMoved") {
		t.Error("the leader did not hand over before it was defragmented")
	}
	for _, endpoint := range etcd.Endpoints() {
		status, err := etcd.Status(s.ctx, endpoint)
		s.must(err)
		if status.DbSize > 8<<20 {
			t.Errorf("the database of %s still has %d bytes", endpoint, status.DbSize)
		}
	}
}

// TestADefragmentationThatNeedsRoot_IsToldAndLeavesTheRest has etcd refuse the
// defragmentation, as it does with authentication and a user without the role.
func TestADefragmentationThatNeedsRoot_IsToldAndLeavesTheRest(t *testing.T) {
	s := emptyScene(t)
	s.change = func(c *etcdcluster.Controller) {
		c.Wrap(func(c client.Client) client.Client { return c }, func(e observe.EtcdClient) observe.EtcdClient { return notRoot{e} })
	}
	s.start()
	spec := onClaims(1)
	spec.Space = &etcdv1beta2.SpacePolicy{Defragmentation: &etcdv1beta2.Defragmentation{Fragmentation: &etcdv1beta2.Fragmentation{Percent: 10, MinimumFree: ptr.To(resource.MustParse("4Ki"))}}}
	s.create(spec)
	s.settled(1, v36)
	s.until("the condition names the role", func(c *etcdv1beta2.EtcdCluster) bool {
		if etcd, err := s.client(s.ctx); err == nil { // free pages
			put, err := etcd.Put(s.ctx, "key", strings.Repeat("x", 1<<19))
			if err == nil {
				_, _ = etcd.Compact(s.ctx, put.Header.Revision, clientv3.WithCompactPhysical())
			}
			_ = etcd.Close()
		}
		is := c.Status.Condition(etcdv1beta2.ClusterSpaceStalled)
		return is != nil && is.Status == corev1.ConditionTrue && is.Reason == "NeedsRoot" && strings.Contains(is.Message, "role root")
	})
	was := podUIDs(s)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Pod.Labels = map[string]string{"team": "shop"} })
	s.until("the controller goes on", func(c *etcdv1beta2.EtcdCluster) bool { return podUIDs(s) != was && whole(c, 1, v36) })
	if c := s.cluster(); condition(c, etcdv1beta2.ClusterMissingCredentials) == corev1.ConditionTrue || condition(c, etcdv1beta2.ClusterStalled) == corev1.ConditionTrue {
		t.Errorf("the conditions are %+v", c.Status.Conditions)
	}
}

// notRoot is a client whose user does not have the role root.
type notRoot struct{ observe.EtcdClient }

func (notRoot) Defragment(context.Context, string, time.Duration) error {
	return rpctypes.ErrPermissionDenied
}

// TestAnUpgradeOfUsher_RestartsNoMemberForSpace gives the controller members that
// another release created, which does not know spec.space: with the field set, and
// without it. A later change holds.
func TestAnUpgradeOfUsher_RestartsNoMemberForSpace(t *testing.T) {
	s := emptyScene(t)
	s.start()
	spec := onClaims(1)
	spec.Pod.EtcdEnv = []corev1.EnvVar{{Name: "ETCD_AUTO_COMPACTION_RETENTION", Value: "2"}, {Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "1000000000"}}
	s.create(spec)
	s.settled(1, v36)
	if p := s.pods()[0]; p.Annotations[wellknown.AnnotationEtcdSpaceRevision] != "" || strings.Contains(strings.Join(p.Spec.Containers[0].Command, " "), "quota") {
		t.Fatalf("the pod differs from that of the previous release: %v %v", p.Annotations, p.Spec.Containers[0].Command)
	}
	was := podUIDs(s)
	// The other release writes the status without what it does not know, while the
	// user sets the field.
	s.stop()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Space = &etcdv1beta2.SpacePolicy{QuotaBackendBytes: ptr.To(resource.MustParse("1Gi"))}
	})
	s.asOlderRelease()
	s.start()
	s.until("the controller says that it restarts no member", func(c *etcdv1beta2.EtcdCluster) bool {
		is := c.Status.Condition(etcdv1beta2.ClusterSpaceStalled)
		return is != nil && is.Status == corev1.ConditionTrue && is.Reason == "Deferred"
	})
	s.looks(5)
	if now := podUIDs(s); now != was {
		t.Fatalf("the upgrade restarted a member: %s, then %s", was, now)
	}
	// And back, without the field.
	s.stop()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Space = nil })
	s.asOlderRelease()
	s.start()
	s.looks(5)
	s.settled(1, v36)
	if now := podUIDs(s); now != was {
		t.Fatalf("the upgrade restarted a member: %s, then %s", was, now)
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Space = &etcdv1beta2.SpacePolicy{QuotaBackendBytes: ptr.To(resource.MustParse("1Gi"))}
	})
	s.until("a later change holds", func(c *etcdv1beta2.EtcdCluster) bool {
		return podUIDs(s) != was && whole(c, 1, v36) && condition(c, etcdv1beta2.ClusterSpaceStalled) == corev1.ConditionFalse
	})
	if command := strings.Join(s.pods()[0].Spec.Containers[0].Command, " "); !strings.Contains(command, "--quota-backend-bytes=1073741824") {
		t.Errorf("the pod runs %s", command)
	}
	c := s.cluster()
	if !contains(c.Status.IgnoredFields, "spec.pod.etcdEnv[1]") || contains(c.Status.IgnoredFields, "spec.pod.etcdEnv[0]") {
		t.Errorf("ignored fields are %v", c.Status.IgnoredFields)
	}
}

// asOlderRelease removes from the status what the previous release does not write.
func (s *scene) asOlderRelease() {
	s.Helper()
	c := s.cluster()
	c.Status.Space = nil
	for i := range c.Status.MemberStatuses {
		c.Status.MemberStatuses[i].SpaceRevision, c.Status.MemberStatuses[i].LastDefragmentation = "", nil
	}
	s.must(shared.client.Status().Update(s.ctx, c))
}

// TestInvalidSpace_IsRefusedByTheAPIServer shows the schema's rules.
func TestInvalidSpace_IsRefusedByTheAPIServer(t *testing.T) {
	s := emptyScene(t)
	for name, space := range map[string]*etcdv1beta2.SpacePolicy{
		"at least 1Mi":               {QuotaBackendBytes: ptr.To(resource.MustParse("1000Ki"))},
		"a number of revisions":      {AutoCompaction: &etcdv1beta2.AutoCompaction{Mode: "revision", Retention: "1h"}},
		"a number without a unit":    {AutoCompaction: &etcdv1beta2.AutoCompaction{Retention: "1 hour"}},
		"Unsupported value":          {AutoCompaction: &etcdv1beta2.AutoCompaction{Mode: "hourly", Retention: "1"}},
		"timeZone needs a schedule":  {Defragmentation: &etcdv1beta2.Defragmentation{TimeZone: ptr.To("Europe/Berlin")}},
		"less than or equal to 95":   {Defragmentation: &etcdv1beta2.Defragmentation{Fragmentation: &etcdv1beta2.Fragmentation{Percent: 96}}},
		"less than or equal to 3600": {Defragmentation: &etcdv1beta2.Defragmentation{TimeoutSeconds: 3601}},
		"greater than or equal to 0": {RecoverNoSpace: &etcdv1beta2.NoSpaceRecovery{KeepRevisions: ptr.To[int64](-1)}},
	} {
		spec := onClaims(1)
		spec.Space = space
		c := &etcdv1beta2.EtcdCluster{}
		c.Namespace, c.Name, c.Spec = s.namespace, "invalid", spec
		if err := shared.client.Create(s.ctx, c, client.DryRunAll); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want %q", space, err, name)
		}
	}
	spec := onClaims(1)
	spec.Space = &etcdv1beta2.SpacePolicy{
		QuotaBackendBytes: resource.NewQuantity(4<<30, resource.DecimalSI), AutoCompaction: &etcdv1beta2.AutoCompaction{Retention: "30m"},
		Defragmentation: &etcdv1beta2.Defragmentation{Schedule: "0 3 * * 0", Fragmentation: &etcdv1beta2.Fragmentation{}}, RecoverNoSpace: &etcdv1beta2.NoSpaceRecovery{},
	}
	c := &etcdv1beta2.EtcdCluster{}
	c.Namespace, c.Name, c.Spec = s.namespace, "valid", spec
	s.must(shared.client.Create(s.ctx, c, client.DryRunAll))
	is := c.Spec.Space
	if is.AutoCompaction.Mode != "periodic" || is.Defragmentation.Fragmentation.Percent != 50 || is.Defragmentation.Fragmentation.MinimumFree.String() != "256Mi" || cmp.Or(*is.RecoverNoSpace.KeepRevisions, 0) != 1000 {
		t.Errorf("the defaults are %+v %+v %+v", is.AutoCompaction, is.Defragmentation.Fragmentation, is.RecoverNoSpace)
	}
}

// TestACompaction_IsAfterTheDefragmentationsBefore: at full speed a database fills up
// in the second in which it was defragmented.
func TestACompaction_IsAfterTheDefragmentationsBefore(t *testing.T) {
	second := func(n int64) *metav1.Time { return ptr.To(metav1.NewTime(time.Unix(n, 0))) }
	for name, c := range map[string]struct {
		defragmented *metav1.Time
		want         int64
	}{
		"never":               {nil, 10},
		"a second before":     {second(9), 10},
		"in the same second":  {second(10), 11},
		"by a clock in front": {second(100), 10},
	} {
		members := []etcdv1beta2.MemberStatus{{Name: "a"}, {Name: "b", LastDefragmentation: c.defragmented}}
		if got := etcdcluster.CompactedAt(second(10), members); got.Unix() != c.want {
			t.Errorf("%s: %d, want %d", name, got.Unix(), c.want)
		}
	}
}

// TestAScheduleThatCannotBeParsed_IsReported: the API server accepts any text.
func TestAScheduleThatCannotBeParsed_IsReported(t *testing.T) {
	s := newScene(t)
	spec := onClaims(1)
	spec.Space = &etcdv1beta2.SpacePolicy{Defragmentation: &etcdv1beta2.Defragmentation{Schedule: "0 25 * * *"}}
	s.create(spec)
	s.until("it is reported", func(c *etcdv1beta2.EtcdCluster) bool {
		stalled := c.Status.Condition(etcdv1beta2.ClusterSpaceStalled)
		return stalled != nil && stalled.Status == corev1.ConditionTrue && stalled.Reason == etcdcluster.ReasonInvalidSchedule && strings.Contains(stalled.Message, "0 25 * * *")
	})
	s.settled(1, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Space.Defragmentation.Schedule = "0 3 * * *" })
	s.until("the next one is known", func(c *etcdv1beta2.EtcdCluster) bool {
		return condition(c, etcdv1beta2.ClusterSpaceStalled) == corev1.ConditionFalse && c.Status.Space.NextDefragmentation != nil
	})
}
