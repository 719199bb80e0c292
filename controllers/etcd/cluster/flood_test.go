package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A writer writes its keys in turn as fast as it can, and knows the last value of
// each that was acknowledged.
type writer struct {
	name  string
	acked map[string]int
}

// A flood is writers at full speed.
type flood struct {
	*scene
	writers []*writer
	stop    context.CancelFunc
	done    sync.WaitGroup
	// writes were acknowledged, refusals were NOSPACE.
	writes, refusals, ended atomic.Int64
	mu                      sync.Mutex
	// refusedAt is when the first writer was refused since the last acknowledged write.
	refusedAt time.Time
	outages   []time.Duration
}

const floodValue = 16 << 10

func (s *scene) flood(writers int) *flood {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	f := &flood{scene: s, stop: cancel}
	for i := range writers {
		w := &writer{name: fmt.Sprintf("writer-%d", i), acked: map[string]int{}}
		f.writers = append(f.writers, w)
		f.done.Go(func() { f.write(ctx, w) })
	}
	s.Cleanup(func() { cancel(); f.done.Wait() })
	return f
}

func (f *flood) write(ctx context.Context, w *writer) {
	var etcd *clientv3.Client
	defer func() {
		if etcd != nil {
			_ = etcd.Close()
		}
	}()
	for n := 1; ctx.Err() == nil; n++ {
		if etcd == nil {
			var err error
			if etcd, err = f.client(ctx); err != nil {
				etcd = nil
				continue
			}
		}
		key := fmt.Sprintf("%s/%d", w.name, n%20)
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := etcd.Put(call, key, fmt.Sprintf("%010d", n)+strings.Repeat("x", floodValue))
		cancel()
		switch {
		case err == nil:
			w.acked[key] = n
			f.writes.Add(1)
			f.acknowledged()
		case errors.Is(err, rpctypes.ErrNoSpace):
			f.refusals.Add(1)
			f.refused()
		default:
			_ = etcd.Close()
			etcd = nil
		}
	}
}

func (f *flood) refused() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusedAt.IsZero() {
		f.refusedAt = time.Now()
	}
}

// acknowledged ends an outage: one write may be acknowledged after the refusal of
// another one.
func (f *flood) acknowledged() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusedAt.IsZero() {
		return
	}
	if took := time.Since(f.refusedAt); took > 50*time.Millisecond {
		f.outages = append(f.outages, took)
		f.ended.Add(1)
	}
	f.refusedAt = time.Time{}
}

// lost ends the writers, and returns how many of their last acknowledged writes
// are not in the cluster. A later value is one whose outcome is unknown.
func (f *flood) lost() (lost int) {
	f.Helper()
	f.stop()
	f.done.Wait()
	etcd, err := f.client(f.ctx)
	f.must(err)
	defer func() { _ = etcd.Close() }()
	for _, w := range f.writers {
		for key, n := range w.acked {
			got, err := etcd.Get(f.ctx, key)
			f.must(err)
			is := 0
			if len(got.Kvs) == 1 {
				_, err = fmt.Sscanf(string(got.Kvs[0].Value[:10]), "%d", &is)
				f.must(err)
			}
			if is < n {
				f.Errorf("%s is %d, and %d was acknowledged", key, is, n)
				lost++
			}
		}
	}
	return lost
}

func (f *flood) eventuallyIn(within time.Duration, what string, holds func() bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, within)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			f.Fatalf("waiting until %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
