package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// unavailability is since when nothing proves that clusters serve. A restarted
// controller starts with the full timeout again.
type unavailability struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// of returns how long the cluster has been unavailable, including now.
func (u *unavailability) of(cluster types.NamespacedName, unavailable bool) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !unavailable {
		delete(u.since, cluster)
		return 0
	}
	if u.since == nil {
		u.since = map[types.NamespacedName]time.Time{}
	}
	since, ok := u.since[cluster]
	if !ok {
		since = time.Now()
		u.since[cluster] = since
	}
	return time.Since(since)
}

// forget drops the state of a deleted cluster.
func (c *Controller) forget(cluster types.NamespacedName) {
	c.unavailability.of(cluster, false)
	c.observer.Forget(cluster)
	c.metrics.forget(cluster)
	c.denied.Delete(cluster)
	c.failures.note(cluster, nil, time.Now(), 0)
	c.resting.set(cluster, nil)
}
