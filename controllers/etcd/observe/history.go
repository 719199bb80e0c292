package observe

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/etcd/plan"
)

// A History is what one controller remembers of clusters between observations.
// The zero value is ready to use.
type History struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]*past
}

// A past is the history of one cluster.
type past struct {
	silences plan.Memory
	// traffic is what members have received from each other.
	traffic map[Link]received
}

// received is how much has arrived, and when it was last more than before; the
// time is zero if that was never observed.
type received struct {
	bytes float64
	at    time.Time
}

// of returns the history of a cluster. The caller holds the lock.
func (h *History) of(cluster types.NamespacedName) *past {
	if h.clusters == nil {
		h.clusters = map[types.NamespacedName]*past{}
	}
	if h.clusters[cluster] == nil {
		h.clusters[cluster] = &past{}
	}
	return h.clusters[cluster]
}

// Received stores what members have received by now, and returns when each last
// received something.
func (h *History) Received(cluster types.NamespacedName, bytes map[Link]float64, now time.Time) map[Link]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.of(cluster)
	after, last := map[Link]received{}, map[Link]time.Time{}
	for l, n := range bytes {
		is := received{bytes: n}
		if was, known := p.traffic[l]; known {
			is.at = was.at
			if n > was.bytes {
				is.at = now
			}
		}
		after[l], last[l] = is, is.at
	}
	p.traffic = after
	return last
}

// Update completes an observation with what only the history tells: since when
// members do not respond.
func (h *History) Update(cluster types.NamespacedName, o *plan.Observation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(cluster).silences.Update(o)
}

// Forget drops the history of a cluster.
func (h *History) Forget(cluster types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clusters, cluster)
}
