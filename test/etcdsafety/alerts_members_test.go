//go:build e2e

package etcdsafety_test

import (
	"context"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/controllers/etcd/member"
	alerts "github.com/usher-dev/usher/test/prometheus"
)

// scraped returns the members as targets, with the labels that the PodMonitor
// usher-etcd sets.
func (s *scene) scraped() []alerts.Target {
	s.Helper()
	var all []alerts.Target
	for _, p := range s.pods() {
		target := alerts.At("usher-system/usher-etcd", net.JoinHostPort(p.Status.PodIP, strconv.Itoa(member.MetricsPort)))
		target.Namespace, target.Labels = p.Namespace, map[string]string{"name": p.Labels["etcd_cluster"], "pod": p.Name}
		all = append(all, target)
	}
	return all
}

// moveLeader moves the leadership of a cluster of two.
func (s *scene) moveLeader() {
	s.Helper()
	etcd, err := s.connect(s.Context())
	s.must(err)
	defer func() { _ = etcd.Close() }()
	status, err := etcd.Status(s.Context(), etcd.Endpoints()[0])
	s.must(err)
	list, err := etcd.MemberList(s.Context())
	s.must(err)
	for _, m := range list.Members {
		if m.ID == status.Leader {
			continue
		}
		// The calls alternate between the members, and only the leader accepts it.
		s.eventually("the leadership moves", func(ctx context.Context) (bool, error) {
			_, err := etcd.MoveLeader(ctx, m.ID)
			return err == nil, nil
		})
	}
}

// smallest returns the size of the smallest of the members' databases, in bytes.
func (s *scene) smallest(etcd *clientv3.Client) int64 {
	s.Helper()
	size := int64(math.MaxInt64)
	for _, endpoint := range etcd.Endpoints() {
		status, err := etcd.Status(s.Context(), endpoint)
		s.must(err)
		size = min(size, status.DbSize)
	}
	return size
}

// TestMembersInTroubleAreAlertedOn moves the leadership of a cluster every minute,
// and then fills seven eighths of its quota.
func TestMembersInTroubleAreAlertedOn(t *testing.T) {
	t.Parallel()
	const quota, full = 16 << 20, 14 << 20
	s := emptyScene(t, shared)
	cluster := s.clusterOf(2)
	cluster.Spec.Pod.EtcdEnv = []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: strconv.Itoa(quota)}}
	s.must(s.client.Create(t.Context(), cluster))
	s.settled(2)
	p := s.only()
	p.Targets = append(p.Targets, s.scraped()...)
	p.Pass(20 * time.Minute)
	p.Quiet("UsherEtcdLeaderChanges", "UsherEtcdDatabaseNearQuota", "UsherEtcdDiskSlow")

	p.Pass(8*time.Minute, s.moveLeader)
	s.fires(p, "UsherEtcdLeaderChanges", name)
	p.Quiet("UsherEtcdDatabaseNearQuota")

	etcd, err := s.connect(t.Context())
	s.must(err)
	defer func() { _ = etcd.Close() }()
	// How many pages a value takes depends on how etcd groups writes.
	for i := 0; s.smallest(etcd) < full; i++ {
		_, err := etcd.Put(t.Context(), strconv.Itoa(i), strings.Repeat("x", quota/256))
		s.must(err)
	}
	s.eventually("the controller has seen the sizes", func(context.Context) (bool, error) {
		s.look()
		sizes := s.said("usher_etcdcluster_database_size_bytes", name)
		for _, size := range sizes {
			bytes, err := strconv.ParseFloat(size[strings.LastIndex(size, " ")+1:], 64)
			if err != nil || bytes < full {
				return false, err
			}
		}
		return len(sizes) == 2, nil
	})
	p.Pass(12 * time.Minute)
	s.fires(p, "UsherEtcdDatabaseNearQuota", name)
	for metric := range alerts.Metrics() {
		if !strings.HasPrefix(metric, "etcd_") {
			continue
		}
		answer := p.Query(`count by (name) ({__name__=~"` + metric + `(_bucket)?"} * 0 + 1)`)[0]
		if len(answer) != 1 || answer[0].Labels["name"] != name || answer[0].Value < 2 {
			t.Errorf("%s has the answer %v, want series of both members", metric, answer)
		}
	}
}
