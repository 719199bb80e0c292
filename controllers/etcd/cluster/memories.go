package cluster

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/controllers/etcd/plan"
)

// memories is what the controller remembers about clusters between
// observations.
type memories struct {
	mu sync.Mutex
	of map[types.NamespacedName]*plan.Memory
	// bytes are what members had received from each other at the previous
	// observation.
	bytes map[types.NamespacedName]map[string]float64
}

// received stores what members have received, and returns the previous values.
func (m *memories) received(cluster types.NamespacedName, now map[string]float64) (before map[string]float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes == nil {
		m.bytes = map[types.NamespacedName]map[string]float64{}
	}
	before = m.bytes[cluster]
	m.bytes[cluster] = now
	return before
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
	delete(m.bytes, cluster)
}
