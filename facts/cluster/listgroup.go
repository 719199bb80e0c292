package cluster

import (
	"context"
	"sync"
	"time"
)

// A listKey names the objects that a list returns.
type listKey struct{ kind, namespace string }

// A listGroup shares lists among the requests that need the same one at the
// same time. A request never gets a list that began before the request asked:
// while a list is running, the requests that arrive wait for the next one and
// share it.
type listGroup struct {
	timeout time.Duration // of a list, and of the wait for one

	mu      sync.Mutex
	next    map[listKey]*call // not begun
	running map[listKey]*call
}

// A call is one list that requests wait for; done is closed when it ended.
type call struct {
	timeout time.Duration
	done    chan struct{}
	result  listResult
	panic   *goroutinePanic
}

// wait returns the result, or one that says that the list did not end in time.
// If the list panicked, wait panics in the request that needs it.
func (c *call) wait(ctx context.Context, kind string) listResult {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	select {
	case <-c.done:
		c.panic.raise()
		return c.result
	case <-ctx.Done():
		return unread(kind)
	}
}

// do returns the call of a key that begins next. The first request starts it;
// the call outlives the requests that wait for it.
func (g *listGroup) do(ctx context.Context, key listKey, list func(context.Context) listResult) *call {
	g.mu.Lock()
	defer g.mu.Unlock()
	if next := g.next[key]; next != nil {
		return next
	}
	begun := &call{timeout: g.timeout, done: make(chan struct{})}
	if g.next == nil {
		g.next, g.running = map[listKey]*call{}, map[listKey]*call{}
	}
	g.next[key] = begun
	go g.run(context.WithoutCancel(ctx), key, begun, g.running[key], list)
	return begun
}

// run executes a call after the one before it. However the list ends, the call
// ends too: no request hangs, and the next call begins.
func (g *listGroup) run(ctx context.Context, key listKey, this, before *call, list func(context.Context) listResult) {
	if before != nil {
		<-before.done
	}
	g.mu.Lock()
	delete(g.next, key)
	g.running[key] = this
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.running[key] == this {
			delete(g.running, key)
		}
		close(this.done)
	}()
	this.panic = recoverGoroutine(func() { this.result = list(ctx) })
}
