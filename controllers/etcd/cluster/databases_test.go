package cluster_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// gauges returns the values of a metric about the cluster, by member.
func (s *scene) gauges(name string) map[string]float64 {
	s.Helper()
	families, err := ctrlmetrics.Registry.(prometheus.Gatherer).Gather()
	s.must(err)
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == name && labels["namespace"] == s.namespace && labels["name"] == s.name {
				values[labels["member"]] = metric.GetGauge().GetValue()
			}
		}
	}
	return values
}

// TestDatabasesAreShown writes to a cluster at rest, and removes a member.
func TestDatabasesAreShown(t *testing.T) {
	s := restScene(t)
	s.create(onClaims(2))
	s.settled(2, v36)
	s.rests()
	names := s.names()
	for _, metric := range []string{"usher_etcdcluster_database_size_bytes", "usher_etcdcluster_database_in_use_bytes", "usher_etcdcluster_database_quota_bytes"} {
		values := s.gauges(metric)
		if len(values) != 2 || values[names[0]] <= 0 || values[names[1]] <= 0 {
			t.Errorf("%s has the values %v, want one of each of %v", metric, values, names)
		}
	}
	if got := s.gauges("usher_etcdcluster_database_quota_bytes")[names[0]]; got != s.cluster().Spec.Space.QuotaBackendBytes.AsApproximateFloat64() {
		t.Errorf("the quota is %v, want that of spec.space", got)
	}

	etcd, err := s.client(t.Context())
	s.must(err)
	defer func() { _ = etcd.Close() }()
	for range 6 {
		_, err := etcd.Put(t.Context(), "key", strings.Repeat("x", 1<<20))
		s.must(err)
	}
	s.until("the sizes have followed", func(c *etcdv1beta2.EtcdCluster) bool {
		for _, m := range c.Status.MemberStatuses {
			if m.DatabaseSize == nil || m.DatabaseSize.Value() < 6<<20 || s.gauges("usher_etcdcluster_database_size_bytes")[m.Name] < 6<<20 {
				return false
			}
		}
		return true
	})
	row, err := shared.plane.ReadKubectl(t.Context(), "get", "etcd", s.name, "-n", s.namespace, "-owide", "--no-headers")
	s.must(err)
	for _, m := range s.cluster().Status.MemberStatuses {
		if m.Leader && !strings.Contains(row, " "+m.Name+" ") || m.Leader && !strings.Contains(row, " "+m.DatabaseSize.String()+" ") {
			t.Errorf("kubectl prints %q, want the leader %s and its %s", row, m.Name, m.DatabaseSize)
		}
	}

	// The status does not follow a small change, so the cluster stays at rest.
	s.rests()
	inUse := s.gauges("usher_etcdcluster_database_in_use_bytes")
	_, err = etcd.Put(t.Context(), "other", strings.Repeat("x", 100<<10))
	s.must(err)
	s.until("the metrics have followed", func(*etcdv1beta2.EtcdCluster) bool {
		now := s.gauges("usher_etcdcluster_database_in_use_bytes")
		return now[names[0]] > inUse[names[0]] && now[names[1]] > inUse[names[1]]
	})

	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 1 })
	s.settled(1, v36)
	s.until("the metrics are those of the member that is left", func(*etcdv1beta2.EtcdCluster) bool {
		values := s.gauges("usher_etcdcluster_database_size_bytes")
		return len(values) == 1 && values[s.names()[0]] > 0
	})
}
