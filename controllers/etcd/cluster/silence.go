package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// silence is since when clusters do not answer. A controller that starts anew
// is as patient as it was before.
type silence struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// of is how long the cluster has been silent, counting this time.
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

// forget drops what is kept of a cluster that is gone.
func (c *Controller) forget(cluster types.NamespacedName) {
	c.silence.of(cluster, false)
	c.memories.forget(cluster)
	c.metrics.forget(cluster)
}
