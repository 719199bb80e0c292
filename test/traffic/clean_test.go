package traffic_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/test/history"
)

// TestACleanRunHasNoProblems kills one member after the other, so that outcomes
// are unknown and watches continue elsewhere.
func TestACleanRunHasNoProblems(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	running := write(t, to(c.Members...), 50)
	for _, m := range c.Members {
		m.Stop()
		more(t, running, 20)
		must(t, m.Start())
		more(t, running, 20)
	}
	v := history.Check(finish(t, running, to(c.Members...)), history.Patience)
	t.Log(v)
	if len(v.Problems) > 0 {
		t.Error("etcd did nothing wrong")
	}
	if v.Writes < 150 || v.Reads < 20 || v.Events < 300 {
		t.Error("too little was recorded to show anything")
	}
}

// TestAWriteAfterTheEndIsNoProblem makes etcd execute a write that a client had
// given up before the last one was requested.
func TestAWriteAfterTheEndIsNoProblem(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	given := &atomic.Pointer[givenUp]{}
	running := write(t, func(ctx context.Context) (*clientv3.Client, error) {
		client, err := to(c.Members...)(ctx)
		if err == nil {
			client.KV = tardy{client.KV, client.Watcher, given}
		}
		return client, err
	}, 60)
	v := history.Check(finish(t, running, to(c.Members...)), history.Patience)
	t.Log(v)
	if given.Load() == nil {
		t.Error("no write was given up")
	}
	if len(v.Problems) > 0 {
		t.Error("etcd did nothing wrong")
	}
}

type givenUp struct{ key, value string }

// tardy gives one write up, and executes it after the last one.
type tardy struct {
	clientv3.KV
	watcher clientv3.Watcher
	given   *atomic.Pointer[givenUp]
}

func (k tardy) Put(ctx context.Context, key, value string, options ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	if k.given.CompareAndSwap(nil, &givenUp{key, value}) {
		return nil, context.DeadlineExceeded
	}
	done, err := k.KV.Put(ctx, key, value, options...)
	if late := k.given.Load(); err == nil && strings.HasSuffix(key, "/end") {
		put, err := k.KV.Put(ctx, late.key, late.value)
		if err != nil {
			return nil, err
		}
		<-k.watcher.Watch(ctx, late.key, clientv3.WithRev(put.Header.Revision)) // watches receive it now
	}
	return done, err
}
