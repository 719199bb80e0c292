package cluster_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
)

// alarmed waits until the alarm is a condition and an Event, and the cluster is
// not available because of it.
func (s *scene) alarmed(condition etcdv1beta2.ClusterConditionType, says string) {
	s.Helper()
	s.until("the alarm is reported", func(c *etcdv1beta2.EtcdCluster) bool {
		is, available := c.Status.Condition(condition), c.Status.Condition(etcdv1beta2.ClusterAvailable)
		return is != nil && is.Status == corev1.ConditionTrue && strings.Contains(is.Message, says) &&
			available.Status == corev1.ConditionFalse && available.Message == is.Message && c.Status.Phase == etcdv1beta2.ClusterPhaseFailed
	})
	s.until("an Event reports it", func(*etcdv1beta2.EtcdCluster) bool {
		var events eventsv1.EventList
		s.must(shared.client.List(s.ctx, &events, client.InNamespace(s.namespace)))
		return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
			return e.Reason == string(condition) && e.Type == corev1.EventTypeWarning && strings.Contains(e.Note, says)
		})
	})
}

// disarmed disarms all alarms, and waits until none is reported.
func (s *scene) disarmed(etcd *clientv3.Client, size int) {
	s.Helper()
	_, err := etcd.AlarmDisarm(s.ctx, &clientv3.AlarmMember{})
	s.must(err)
	s.settled(size, v36)
	c := s.cluster()
	if condition(c, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue || condition(c, etcdv1beta2.ClusterNoSpace) == corev1.ConditionTrue || condition(c, etcdv1beta2.ClusterCorrupt) == corev1.ConditionTrue {
		s.Errorf("the alarm is still reported: %v", c.Status.Conditions)
	}
}

// TestAClusterWithAFullDatabase_IsNotAvailable fills the database up to its quota
// while the cluster is at rest, and then does what the condition says.
func TestAClusterWithAFullDatabase_IsNotAvailable(t *testing.T) {
	s := restScene(t)
	spec := onClaims(3)
	spec.Pod.EtcdEnv = []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: strconv.Itoa(4 << 20)}}
	s.create(spec)
	s.settled(3, v36)
	s.rests()
	etcd, err := s.client(s.ctx)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	revision := int64(0)
	s.until("etcd refuses a write", func(*etcdv1beta2.EtcdCluster) bool {
		put, err := etcd.Put(s.ctx, "key", strings.Repeat("x", 1<<20))
		if err == nil {
			revision = put.Header.Revision
		}
		return errors.Is(err, rpctypes.ErrNoSpace)
	})
	s.alarmed(etcdv1beta2.ClusterNoSpace, "alarm NOSPACE of "+s.name)
	_, err = etcd.Compact(s.ctx, revision, clientv3.WithCompactPhysical())
	s.must(err)
	for _, endpoint := range etcd.Endpoints() {
		_, err := etcd.Defragment(s.ctx, endpoint)
		s.must(err)
	}
	s.disarmed(etcd, 3)
	_, err = etcd.Put(s.ctx, "key", "value")
	s.must(err)
}

// TestAMemberWithCorruptData_IsReplacedByHand raises the alarm, and does what the
// condition says. The member that a person removes does not use up the limit of
// automatic replacements.
func TestAMemberWithCorruptData_IsReplacedByHand(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(3))
	s.settled(3, v36)
	etcd, err := s.client(s.ctx)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	member := s.cluster().Status.MemberStatuses[0]
	id, err := strconv.ParseUint(member.ID, 16, 64)
	s.must(err)
	s.raise(etcd, id, pb.AlarmType_CORRUPT, "")
	s.alarmed(etcdv1beta2.ClusterCorrupt, "alarm CORRUPT of "+member.Name)
	s.until("it is removed", func(*etcdv1beta2.EtcdCluster) bool { // once the members have been connected for a while
		_, err := etcd.MemberRemove(s.ctx, id)
		return err == nil
	})
	etcd.SetEndpoints(slices.DeleteFunc(etcd.Endpoints(), func(url string) bool { return strings.Contains(url, member.Name) })...)
	s.disarmed(etcd, 3)
	s.until("another member is in its place", func(c *etcdv1beta2.EtcdCluster) bool {
		aside := c.Status.SetAside
		return whole(c, 3, v36) && !contains(s.names(), member.Name) && len(aside) == 1 && aside[0].Claim == member.Name && aside[0].Until != nil
	})
	if reason := plan.Cause(s.cluster().Status.SetAside[0].Reason); !reason.Asked() {
		t.Errorf("its claim is set aside because of %q, which counts as an automatic replacement", reason)
	}
}

func (s *scene) raise(etcd *clientv3.Client, member uint64, alarm pb.AlarmType, token string) {
	s.Helper()
	ctx := s.ctx
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token)
	}
	_, err := pb.NewMaintenanceClient(etcd.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: member, Alarm: alarm})
	s.must(err)
}

// TestAnAlarmOfMembersThatRefuseTheClient_IsReported raises an alarm after etcd's
// authentication is enabled, for which usher has no credentials.
func TestAnAlarmOfMembersThatRefuseTheClient_IsReported(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	etcd := s.enableAuth("a-password")
	s.until("the client is refused, and the cluster is available", func(c *etcdv1beta2.EtcdCluster) bool {
		return condition(c, etcdv1beta2.ClusterMissingCredentials) == corev1.ConditionTrue && condition(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionTrue
	})
	token, err := etcd.Authenticate(s.ctx, "root", "a-password")
	s.must(err)
	s.raise(etcd, 1, pb.AlarmType_NOSPACE, token.Token)
	s.alarmed(etcdv1beta2.ClusterNoSpace, "alarm NOSPACE of a member")
}
