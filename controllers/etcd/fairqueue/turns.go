// Package fairqueue shares the workers of a controller fairly among namespaces.
package fairqueue

import "sync"

// Turns limits how many objects are worked on at once, in all and of one
// namespace, so that a tenant whose store does not answer leaves turns for the
// others.
type Turns struct {
	all, perNamespace int

	mu sync.Mutex
	// total is how many turns are taken, taken those of each namespace that has
	// any.
	total int
	taken map[string]int
}

// New returns Turns with a limit for all namespaces together, and one for each.
func New(all, perNamespace int) *Turns {
	return &Turns{all: all, perNamespace: perNamespace, taken: map[string]int{}}
}

// Take takes a turn, which lasts until end is called, or reports that there is
// none left for the namespace.
func (t *Turns) Take(namespace string) (end func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.total >= t.all || t.taken[namespace] >= t.perNamespace {
		return nil, false
	}
	t.total++
	t.taken[namespace]++
	return sync.OnceFunc(func() { t.end(namespace) }), true
}

func (t *Turns) end(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total--
	if t.taken[namespace]--; t.taken[namespace] == 0 {
		delete(t.taken, namespace)
	}
}
