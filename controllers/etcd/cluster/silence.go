package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// silence is since when nobody says that clusters serve. A restarted controller starts
// with the full timeout again.
type silence struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// of returns how long the cluster has been silent, including now.
func (s *silence) of(cluster types.NamespacedName, silent bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !silent {
		delete(s.since, cluster)
		return 0
	}
	if s.since == nil {
		s.since = map[types.NamespacedName]time.Time{}
	}
	since, ok := s.since[cluster]
	if !ok {
		since = time.Now()
		s.since[cluster] = since
	}
	return time.Since(since)
}

// forget drops the state of a deleted cluster.
func (c *Controller) forget(cluster types.NamespacedName) {
	c.silence.of(cluster, false)
	c.memories.forget(cluster)
	c.metrics.forget(cluster)
	c.denied.Delete(cluster)
}
