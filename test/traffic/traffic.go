// Package traffic sends reads and writes of many concurrent clients to an etcd
// cluster, watches it, and records everything as a history for package history.
package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-dev/usher/test/history"
)

const (
	clients = 4
	watches = 2
	// keys is small, so that clients conflict.
	keys = 8
	// pause is the maximum time between two operations of a client: tests are
	// about losses, not about the speed of etcd.
	pause = 80 * time.Millisecond
	// operationTimeout is how long an operation may take before its outcome counts
	// as unknown.
	operationTimeout = time.Second
)

// A Traffic is a number of active clients, until Stop or Finish.
type Traffic struct {
	connect Connect
	start   time.Time
	prefix  string
	ended   sync.WaitGroup
	stop    context.CancelFunc
	watches []*watch

	mu         sync.Mutex
	first      int64 // the revision before the history
	began      time.Duration
	operations []history.Operation
	modified   map[string]int64 // the last known revision of each key
	writes     int
}

// prefixes distinguishes the histories of one cluster.
var prefixes atomic.Int64

// Start starts the clients. They begin once the cluster answers.
func Start(ctx context.Context, connect Connect) *Traffic {
	ctx, stop := context.WithCancel(ctx)
	t := &Traffic{
		connect: connect, start: time.Now(), stop: stop, modified: map[string]int64{},
		prefix: fmt.Sprintf("traffic-%d-%d/", time.Now().UnixNano(), prefixes.Add(1)),
	}
	for i := range watches {
		t.watches = append(t.watches, newWatch(fmt.Sprint(i)))
	}
	t.ended.Go(func() { t.run(ctx) })
	return t
}

func (t *Traffic) run(ctx context.Context) {
	c := connection{connect: t.connect}
	defer c.drop()
	for ctx.Err() == nil {
		client, err := c.get(ctx)
		if err != nil {
			return
		}
		once, cancel := context.WithTimeout(ctx, operationTimeout)
		found, err := client.Get(once, t.prefix)
		cancel()
		if err != nil {
			c.drop()
			continue
		}
		t.mu.Lock()
		t.first, t.began = found.Header.Revision, time.Since(t.start)
		t.mu.Unlock()
		for i := range clients {
			t.ended.Go(func() { t.work(ctx, i) })
		}
		for _, w := range t.watches {
			w.run(t.connect, t.prefix, found.Header.Revision+1)
		}
		return
	}
}

// work is the loop of one client.
func (t *Traffic) work(ctx context.Context, client int) {
	c := connection{connect: t.connect}
	defer c.drop()
	random := rand.New(rand.NewPCG(uint64(t.start.UnixNano()), uint64(client)))
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(random.Int64N(int64(pause)))):
		}
		_ = t.do(ctx, &c, t.choose(random, client, n))
	}
}

// choose selects a client's next operation.
func (t *Traffic) choose(random *rand.Rand, client, n int) history.Operation {
	o := history.Operation{Client: client, Key: fmt.Sprintf("%s%d", t.prefix, random.IntN(keys))}
	value := fmt.Sprintf("%d-%d", client, n)
	switch chance := random.IntN(100); {
	case chance < 35:
		o.Kind, o.Value = history.Put, value
	case chance < 65:
		o.Kind, o.Value, o.Expected = history.Swap, value, t.lastModified(o.Key)
	case chance < 75:
		o.Kind = history.Delete
	default:
		o.Kind = history.Get
	}
	return o
}

// do performs an operation and records it. It returns an error if the outcome
// is unknown.
func (t *Traffic) do(ctx context.Context, c *connection, o history.Operation) error {
	client, err := c.get(ctx)
	if err != nil {
		return err
	}
	// Wait for operations in progress at the end of the traffic.
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), operationTimeout)
	defer cancel()
	o.Call = time.Since(t.start)
	o.Answer, err = perform(once, client.KV, o)
	o.Return = time.Since(t.start)
	if err != nil {
		c.drop()
	}
	t.record(o)
	return err
}

func (t *Traffic) record(o history.Operation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.operations = append(t.operations, o)
	switch {
	case o.Answer == nil:
	case !o.Answer.Wrote:
		t.modified[o.Key] = o.Answer.Found.Modified
	case o.Kind == history.Delete:
		t.modified[o.Key] = 0
		t.writes++
	default:
		t.modified[o.Key] = o.Answer.Revision
		t.writes++
	}
}

func (t *Traffic) lastModified(key string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.modified[key]
}

// Writes returns the number of acknowledged writes so far.
func (t *Traffic) Writes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// Stop stops the clients and the watches.
func (t *Traffic) Stop() {
	t.stop()
	t.ended.Wait()
	for _, w := range t.watches {
		w.end()
	}
}
