package etcdcluster_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// A writer puts keys one after the other and remembers which puts were
// acknowledged.
type writer struct {
	*scene
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	acked   map[string]string
	longest time.Duration
}

// write starts a writer, which the test ends with verify.
func (s *scene) write() *writer {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	w := &writer{scene: s, cancel: cancel, acked: map[string]string{}}
	w.done.Go(func() {
		last := time.Now()
		for n := 0; ctx.Err() == nil; n++ {
			key, value := fmt.Sprintf("key-%d", n%500), strconv.Itoa(n)
			if !w.put(ctx, key, value) {
				continue
			}
			w.mu.Lock()
			w.acked[key] = value
			w.longest = max(w.longest, time.Since(last))
			w.mu.Unlock()
			last = time.Now()
		}
	})
	s.Cleanup(func() { cancel(); w.done.Wait() })
	return w
}

// client is one of the cluster's, through all pods that there are now.
func (s *scene) client(ctx context.Context) (*clientv3.Client, error) {
	config := clientv3.Config{Context: ctx, Logger: zap.NewNop(), DialTimeout: time.Second, DialOptions: []grpc.DialOption{}}
	for _, p := range s.pods() {
		if p.Status.PodIP != "" && p.Labels["etcd.usher.dev/voter"] == "true" {
			config.Endpoints = append(config.Endpoints, "http://"+net.JoinHostPort(p.Status.PodIP, "2379"))
		}
	}
	return clientv3.New(config)
}

// put puts until the put is acknowledged: its value is greater than that of any
// put before.
func (w *writer) put(ctx context.Context, key, value string) bool {
	for ctx.Err() == nil {
		c, err := w.client(ctx)
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err = c.Put(once, key, value)
		cancel()
		_ = c.Close()
		if err == nil {
			return true
		}
	}
	return false
}

// verify ends the writer and looks for every acknowledged put.
func (w *writer) verify() {
	w.Helper()
	w.cancel()
	w.done.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), 10*time.Second)
	defer cancel()
	c, err := w.client(ctx)
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	got, err := c.Get(ctx, "key-", clientv3.WithPrefix())
	if err != nil {
		w.Fatal(err)
	}
	values := map[string]int{}
	for _, kv := range got.Kvs {
		values[string(kv.Key)], _ = strconv.Atoi(string(kv.Value))
	}
	lost := 0
	for key, value := range w.acked {
		// A put that was not acknowledged may have been done all the same.
		if n, _ := strconv.Atoi(value); values[key] < n {
			lost++
		}
	}
	w.Logf("%d keys acknowledged, longest gap %s, revision %d", len(w.acked), w.longest.Round(time.Millisecond), got.Header.Revision)
	if lost > 0 || len(w.acked) == 0 {
		w.Errorf("%d of %d acknowledged keys are lost", lost, len(w.acked))
	}
}

// count is how many keys were acknowledged.
func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}
