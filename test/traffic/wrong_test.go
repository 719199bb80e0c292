package traffic_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/test/etcdserver"
	"github.com/usher-dev/usher/test/history"
	"github.com/usher-dev/usher/test/traffic"
)

// wrong expects problems with that text.
func wrong(t *testing.T, running *traffic.Traffic, members traffic.Connect, says ...string) {
	t.Helper()
	v := history.Check(finish(t, running, members), history.Patience)
	t.Log(v)
	problems := strings.Join(v.Problems, "\n")
	for _, text := range says {
		if !strings.Contains(problems, text) {
			t.Errorf("no problem says %q", text)
		}
	}
}

// TestARollbackIsReported restores an earlier copy of the data.
func TestARollbackIsReported(t *testing.T) {
	t.Parallel()
	for name, goesOn := range map[string]bool{"and clients went on": true, "after the last write": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, 1)
			m := c.Members[0]
			running := write(t, to(m), 40)
			m.Stop()
			earlier := copyData(t, m.Data)
			must(t, m.Start())
			more(t, running, 40)
			m.Stop()
			must(t, os.RemoveAll(m.Data))
			must(t, os.Rename(earlier, m.Data))
			must(t, m.Start())
			if goesOn {
				more(t, running, 120)
			}
			wrong(t, running, to(m), "an acknowledged write is lost", "the revision went back")
		})
	}
}

// TestASecondClusterIsReported connects some clients to another cluster.
func TestASecondClusterIsReported(t *testing.T) {
	t.Parallel()
	a, b := start(t, 1), start(t, 1)
	running := write(t, inTurn(to(a.Members...), to(b.Members...)), 80)
	wrong(t, running, to(a.Members[0], b.Members[0]), "2 clusters answered", "two writes at revision")
}

// TestAForkIsReported starts a second member on a copy of a member's data: both
// have the same ids.
func TestAForkIsReported(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	m := c.Members[0]
	m.Stop()
	fork, err := etcdserver.Fork(t.Context(), m, copyData(t, m.Data))
	must(t, err)
	t.Cleanup(fork.Stop)
	must(t, m.Start())
	running := write(t, inTurn(to(m), to(fork.Members...)), 80)
	wrong(t, running, to(m, fork.Members[0]), "two writes at revision")
}

// inTurn alternates the clusters of clients.
func inTurn(all ...traffic.Connect) traffic.Connect {
	var next atomic.Int64
	return func(ctx context.Context) (*clientv3.Client, error) {
		return all[int(next.Add(1))%len(all)](ctx)
	}
}

// TestAStaleReadIsReported reads from a stale copy of the store, and treats the
// answers as linearizable.
func TestAStaleReadIsReported(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	m := c.Members[0]
	var behind atomic.Pointer[clientv3.Client]
	var stale atomic.Int64
	running := write(t, func(ctx context.Context) (*clientv3.Client, error) {
		client, err := to(m)(ctx)
		if err == nil {
			client.KV = reader{client.KV, &behind, &stale}
		}
		return client, err
	}, 20)
	m.Stop()
	copied, err := etcdserver.Fork(t.Context(), m, copyData(t, m.Data))
	must(t, err)
	t.Cleanup(copied.Stop)
	must(t, m.Start())
	more(t, running, 20)
	client, err := copied.Client()
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	behind.Store(client)
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return stale.Load() > 5, nil
	})
	must(t, err)
	wrong(t, running, to(m), "the revision went back", "was not linearizable")
}

// reader reads from the stale store, once there is one.
type reader struct {
	clientv3.KV
	behind *atomic.Pointer[clientv3.Client]
	reads  *atomic.Int64
}

func (r reader) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	behind := r.behind.Load()
	if behind == nil {
		return r.KV.Get(ctx, key, options...)
	}
	r.reads.Add(1)
	return behind.Get(ctx, key, append(options, clientv3.WithSerializable())...)
}

// TestAWriteThatWasAppliedTwiceIsReported sends some writes twice.
func TestAWriteThatWasAppliedTwiceIsReported(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	running := write(t, func(ctx context.Context) (*clientv3.Client, error) {
		client, err := to(c.Members...)(ctx)
		if err == nil {
			client.KV = twice{client.KV}
		}
		return client, err
	}, 40)
	wrong(t, running, to(c.Members...), "written once and stored 2 times", "was not linearizable")
}

type twice struct{ clientv3.KV }

func (k twice) Put(ctx context.Context, key, value string, options ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	if _, err := k.KV.Put(ctx, key, value, options...); err != nil {
		return nil, err
	}
	return k.KV.Put(ctx, key, value, options...)
}

// TestALostWatchEventIsReported drops one event of a watch.
func TestALostWatchEventIsReported(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	var told atomic.Int64
	running := write(t, func(ctx context.Context) (*clientv3.Client, error) {
		client, err := to(c.Members...)(ctx)
		if err == nil {
			client.Watcher = forgetful{client.Watcher, &told}
		}
		return client, err
	}, 60)
	// The members' logs are read without the client that drops events.
	wrong(t, running, to(c.Members...), "misses")
}

// forgetful drops one event.
type forgetful struct {
	clientv3.Watcher
	told *atomic.Int64
}

func (f forgetful) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	from := f.Watcher.Watch(ctx, key, options...)
	to := make(chan clientv3.WatchResponse)
	go func() {
		defer close(to)
		for response := range from {
			if len(response.Events) > 0 && f.told.Add(1) == 20 {
				response.Events = response.Events[1:]
			}
			select {
			case to <- response:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}
