package webhook

import (
	"context"
	"sync"
)

// A place is where objects are looked for.
type place struct{ kind, namespace string }

// pages shares reading among the requests that ask for the same while it goes
// on. Nobody gets what was read before it asked: who comes while a page is read
// waits for the next, which all share who came meanwhile.
type pages struct {
	mu   sync.Mutex
	next map[place]*reading // not begun
	busy map[place]*reading // going on
}

// A reading is one page on its way; done is closed when it is there.
type reading struct {
	done chan struct{}
	page page
}

// wait returns the page, or says that it did not come in time.
func (r *reading) wait(ctx context.Context, kind string) page {
	ctx, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	select {
	case <-r.done:
		return r.page
	case <-ctx.Done():
		return unread(kind)
	}
}

// join returns the reading of a place that begins next. Who comes first makes it, and what
// makes it outlives who waits.
func (p *pages) join(ctx context.Context, at place, list func(context.Context) page) *reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.next[at]; r != nil {
		return r
	}
	r := &reading{done: make(chan struct{})}
	if p.next == nil {
		p.next, p.busy = map[place]*reading{}, map[place]*reading{}
	}
	p.next[at] = r
	go p.run(context.WithoutCancel(ctx), at, r, p.busy[at], list)
	return r
}

func (p *pages) run(ctx context.Context, at place, r, before *reading, list func(context.Context) page) {
	if before != nil {
		<-before.done
	}
	p.mu.Lock()
	delete(p.next, at)
	p.busy[at] = r
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	r.page = unread(at.kind) // where reading panics
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.busy[at] == r {
			delete(p.busy, at)
		}
		close(r.done)
	}()
	r.page = list(ctx)
}
