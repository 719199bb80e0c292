package cluster

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// metrics describes every cluster.
type metrics struct {
	members, margin, available, hibernated, lost, stalled, aside, alarm *prometheus.GaugeVec
	size, inUse, quota                                                  *prometheus.GaugeVec
	steps                                                               *prometheus.CounterVec
}

// newMetrics registers them; it reuses those of an earlier controller in the
// process.
func newMetrics() *metrics {
	cluster := []string{"namespace", "name"}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "usher_etcdcluster_" + name, Help: help}, append(labels, cluster...)))
	}
	return &metrics{
		members:    gauge("members", "Members of the cluster, by whether they are ready; none while it hibernates.", "ready"),
		margin:     gauge("quorum_margin", "How many more voters may fail before the cluster stops; below zero it has stopped."),
		available:  gauge("available", "1 while the cluster accepts reads and writes."),
		hibernated: gauge("hibernated", "1 while the cluster does not serve because its spec hibernates it."),
		lost:       gauge("quorum_lost", "1 while the cluster cannot recover by itself."),
		stalled:    gauge("stalled", "1 while the cluster cannot make progress without human intervention."),
		aside:      gauge("claims_set_aside", "Claims of removed members that wait to be deleted."),
		alarm:      gauge("alarm", "1 while etcd's alarm of that name is raised.", "alarm"),
		size:       gauge("database_size_bytes", "Size of a member's database, while the member answers.", "member"),
		inUse:      gauge("database_in_use_bytes", "The part of a member's database that is not free.", "member"),
		quota:      gauge("database_quota_bytes", "Size of a member's database at which etcd refuses writes, from etcd 3.6.", "member"),
		steps: registered(prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_etcdcluster_steps_total", Help: "Steps taken, by kind."}, []string{"action"})),
	}
}

func registered[C prometheus.Collector](c C) C {
	err := ctrlmetrics.Registry.Register(c)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		return before.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // the metrics in this file conflict, which tests find first
	}
	return c
}

// observe sets the metrics of a cluster from its status.
func (m *metrics) observe(c *etcdv1beta2.EtcdCluster) {
	m.members.WithLabelValues("true", c.Namespace, c.Name).Set(float64(len(c.Status.Members.Ready)))
	m.members.WithLabelValues("false", c.Namespace, c.Name).Set(float64(len(c.Status.Members.Unready)))
	m.hibernated.WithLabelValues(c.Namespace, c.Name).Set(0)
	if hibernates(c) {
		m.hibernated.WithLabelValues(c.Namespace, c.Name).Set(1)
		m.members.WithLabelValues("false", c.Namespace, c.Name).Set(0)
		m.margin.DeleteLabelValues(c.Namespace, c.Name)
	} else if q := c.Status.Quorum; q != nil {
		m.margin.WithLabelValues(c.Namespace, c.Name).Set(float64(q.Margin))
	}
	m.available.WithLabelValues(c.Namespace, c.Name).Set(holds(c, etcdv1beta2.ClusterAvailable))
	m.lost.WithLabelValues(c.Namespace, c.Name).Set(holds(c, etcdv1beta2.ClusterQuorumLost))
	m.stalled.WithLabelValues(c.Namespace, c.Name).Set(holds(c, etcdv1beta2.ClusterStalled))
	m.aside.WithLabelValues(c.Namespace, c.Name).Set(float64(len(c.Status.SetAside)))
	for alarm, condition := range alarmConditions {
		raised := holds(c, condition)
		if hibernates(c) {
			raised = 0 // nobody refuses anything, and etcd raises it again
		}
		m.alarm.WithLabelValues(string(alarm), c.Namespace, c.Name).Set(raised)
	}
}

// left sets the metric of the claims that a deleted cluster has left.
func (m *metrics) left(c types.NamespacedName, claims int) {
	if claims > 0 {
		m.aside.WithLabelValues(c.Namespace, c.Name).Set(float64(claims))
	}
}

// databases sets the metrics of each member that answers, and removes those of the
// others: the last size of a member that is gone says nothing.
func (m *metrics) databases(s *observe.Observed) {
	namespace, name := s.Cluster.Namespace, s.Cluster.Name
	set := func(to *prometheus.GaugeVec, member string, bytes int64) {
		if bytes > 0 {
			to.WithLabelValues(member, namespace, name).Set(float64(bytes))
		} else {
			to.DeleteLabelValues(member, namespace, name)
		}
	}
	record := func(member string, d observe.Database) {
		set(m.size, member, d.Size)
		set(m.inUse, member, d.InUse)
		set(m.quota, member, d.Quota)
	}
	for _, was := range s.Before.MemberStatuses {
		if s.Details[was.Name] == nil {
			record(was.Name, observe.Database{})
		}
	}
	for member, of := range s.Details {
		if of.Database == nil {
			record(member, observe.Database{})
		} else {
			record(member, *of.Database)
		}
	}
}

// forget removes the metrics of a deleted cluster.
func (m *metrics) forget(c types.NamespacedName) {
	of := prometheus.Labels{"namespace": c.Namespace, "name": c.Name}
	for _, gauge := range []*prometheus.GaugeVec{m.members, m.margin, m.available, m.hibernated, m.lost, m.stalled, m.aside, m.alarm, m.size, m.inUse, m.quota} {
		gauge.DeletePartialMatch(of)
	}
}

func holds(c *etcdv1beta2.EtcdCluster, t etcdv1beta2.ClusterConditionType) float64 {
	if condition := c.Status.Condition(t); condition != nil && condition.Status == "True" {
		return 1
	}
	return 0
}
