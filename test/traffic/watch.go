package traffic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/test/history"
)

// idle is how long a watch may receive nothing before it connects to another
// member: the known members may have been removed.
const idle = 3 * time.Second

// A watch records every received change. It resumes after a broken connection.
type watch struct {
	name   string
	stop   context.CancelFunc
	ended  sync.WaitGroup
	reach  chan int64
	events []history.Event
	failed string
}

func newWatch(name string) *watch {
	return &watch{name: name, stop: func() {}, reach: make(chan int64, 1)}
}

// run starts the watch.
func (w *watch) run(connect Connect, prefix string, from int64) {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.ended.Go(func() {
		c := connection{connect: connect}
		defer c.drop()
		for last := int64(-1); ctx.Err() == nil && w.failed == "" && (last < 0 || from <= last); c.drop() {
			client, err := c.get(ctx)
			if err != nil {
				return
			}
			from, last = w.follow(ctx, client, prefix, from, last)
		}
	})
}

// follow follows one connection until it is idle or the last revision is
// reached, and returns where to resume.
func (w *watch) follow(ctx context.Context, client *clientv3.Client, prefix string, from, last int64) (next, end int64) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	told := client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(from))
	silence := time.NewTimer(idle)
	defer silence.Stop()
	for last < 0 || from <= last {
		select {
		case last = <-w.reach:
		case <-silence.C:
			return from, last
		case response, open := <-told:
			if err := response.Err(); err != nil && response.CompactRevision != 0 {
				w.failed = err.Error()
				return from, last
			} else if err != nil || !open {
				return from, last
			}
			for _, e := range response.Events {
				w.events = append(w.events, event(e))
				from = e.Kv.ModRevision + 1
			}
			silence.Reset(idle)
		}
	}
	return from, last
}

// until waits until the watch has received a revision, and stops it.
func (w *watch) until(ctx context.Context, revision int64) history.Events {
	w.reach <- revision
	reached := make(chan struct{})
	go func() {
		w.ended.Wait()
		close(reached)
	}()
	var late error
	select {
	case <-reached:
	case <-ctx.Done():
		late = errors.New("it was not told of the last change in time")
	}
	w.end()
	// Abandoned operations may have happened after the last change of the history.
	counts := slices.DeleteFunc(w.events, func(e history.Event) bool { return e.State.Modified > revision })
	told := history.Events{Source: w.name, Events: counts, Incomplete: w.failed}
	if late != nil && told.Incomplete == "" {
		told.Incomplete = fmt.Sprintf("%v, which is at revision %d", late, revision)
	}
	return told
}

func (w *watch) end() {
	w.stop()
	w.ended.Wait()
}
