// Package turns shares the workers of a controller fairly among namespaces.
package turns

import "sync"

// Turns limits how many objects of one namespace are reconciled at once, so
// that a tenant whose store does not answer leaves workers for the others.
type Turns struct {
	limit int

	mu sync.Mutex
	// taken counts the turns of each namespace that has any.
	taken map[string]int
}

// New returns Turns with a limit for each namespace.
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
