// Package turns shares the workers of a controller among namespaces.
package turns

import "sync"

// Turns limit how many objects of one namespace are worked on at once, so that
// those of one tenant, whose store does not answer, leave workers for the others.
type Turns struct {
	limit int

	mu sync.Mutex
	// taken counts those of each namespace that has any.
	taken map[string]int
}

// New returns Turns of which a namespace has limit at a time.
func New(limit int) *Turns { return &Turns{limit: limit, taken: map[string]int{}} }

// Take takes a turn, which lasts until end is called, or reports that the namespace
// has none left.
func (t *Turns) Take(namespace string) (end func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[namespace] >= t.limit {
		return nil, false
	}
	t.taken[namespace]++
	return sync.OnceFunc(func() { t.end(namespace) }), true
}

func (t *Turns) end(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[namespace]--; t.taken[namespace] == 0 {
		delete(t.taken, namespace)
	}
}
