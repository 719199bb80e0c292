package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/etcd/plan"
)

// memories is what the controller remembers about clusters between
// observations.
type memories struct {
	mu sync.Mutex
	of map[types.NamespacedName]*plan.Memory
	// traffic is what members have received from each other.
	traffic map[types.NamespacedName]map[link]received
}

// A link is a member that receives, and the ID of the one that sends to it, in
// hexadecimal.
type link struct{ to, from string }

// received is how much has arrived, and when it was last more than before; the
// time is zero if that was never observed.
type received struct {
	bytes float64
	at    time.Time
}

// arrived stores what members have received by now, and returns when each last
// received something.
func (m *memories) arrived(cluster types.NamespacedName, bytes map[link]float64, now time.Time) map[link]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.traffic == nil {
		m.traffic = map[types.NamespacedName]map[link]received{}
	}
	before, after, last := m.traffic[cluster], map[link]received{}, map[link]time.Time{}
	for l, n := range bytes {
		is := received{bytes: n}
		if was, known := before[l]; known {
			is.at = was.at
			if n > was.bytes {
				is.at = now
			}
		}
		after[l], last[l] = is, is.at
	}
	m.traffic[cluster] = after
	return last
}

func (m *memories) update(cluster types.NamespacedName, o *plan.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]*plan.Memory{}
	}
	if m.of[cluster] == nil {
		m.of[cluster] = &plan.Memory{}
	}
	m.of[cluster].Update(o)
}

func (m *memories) forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, cluster)
	delete(m.traffic, cluster)
}
