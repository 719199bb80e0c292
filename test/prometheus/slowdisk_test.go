package prometheus_test

import (
	"testing"

	"github.com/usher-dev/usher/test/prometheus"
)

// TestASlowDiskIsAlertedOn scrapes two members of a cluster. The disk of one takes
// longer for two writes of a hundred.
func TestASlowDiskIsAlertedOn(t *testing.T) {
	t.Parallel()
	p := prometheus.New(t)
	p.Now = begin
	target := func(pod string, s series) prometheus.Target {
		return prometheus.Target{
			Job: "usher-system/usher-etcd", Instance: pod + ":2381", Namespace: "shop",
			Labels: map[string]string{"name": "main", "pod": pod}, Get: s.get,
		}
	}
	for m := range 30 {
		slow := member(m)
		slow[`etcd_disk_wal_fsync_duration_seconds_bucket{le="0.008"}`] *= 0.98
		p.Targets = append(production.targets(production.healthy(m), true),
			target("main-1", member(m)), target("main-2", slow))
		p.Pass(minute)
	}
	p.Fires("UsherEtcdDiskSlow", "namespace", "shop", "name", "main", "pod", "main-2")
	if firing := p.Alerts(); len(firing) != 1 {
		t.Errorf("these fire: %v, want one", firing)
	}
}
