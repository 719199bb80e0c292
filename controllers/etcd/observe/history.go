package observe

import (
	"maps"
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

// received is how much has arrived, when it was last more than before, which is
// the zero time if that was never observed, and when it was read.
type received struct {
	bytes    float64
	at, read time.Time
}

// A Reception is when a member last received something from another one. First:
// it was asked for the first time, so that nobody knows.
type Reception struct {
	At    time.Time
	First bool
}

// forgetAfter is how long a reading is good for a comparison.
const forgetAfter = 10 * time.Minute

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
// received something, as far as it was read now.
func (h *History) Received(cluster types.NamespacedName, bytes map[Link]float64, now time.Time) map[Link]Reception {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.of(cluster)
	if p.traffic == nil {
		p.traffic = map[Link]received{}
	}
	maps.DeleteFunc(p.traffic, func(_ Link, was received) bool { return now.Sub(was.read) > forgetAfter })
	last := map[Link]Reception{}
	for l, n := range bytes {
		was, known := p.traffic[l]
		is := received{bytes: n, at: was.at, read: now}
		if known && n > was.bytes {
			is.at = now
		}
		p.traffic[l], last[l] = is, Reception{At: is.at, First: !known}
	}
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
