// Package writer writes to an etcd cluster and remembers which puts were
// acknowledged, so that tests can say that none was lost, and for how long none
// was possible.
package writer

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// keys is how many keys are written in turn, pause the time from one put to the
// next at the least: tests are about what is lost, not about how fast etcd is.
const (
	keys  = 500
	pause = 20 * time.Millisecond
)

// A Connect connects to the cluster as it is.
type Connect func(context.Context) (*clientv3.Client, error)

// A Writer puts keys one after the other, each with a greater value than the
// puts before it.
type Writer struct {
	connect Connect
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu      sync.Mutex
	acked   map[string]int
	puts    int
	longest time.Duration
	last    time.Time
}

// Start starts a writer, which Stop ends.
func Start(ctx context.Context, connect Connect) *Writer {
	ctx, cancel := context.WithCancel(ctx)
	w := &Writer{connect: connect, cancel: cancel, acked: map[string]int{}}
	w.done.Go(func() { w.run(ctx) })
	return w
}

func (w *Writer) run(ctx context.Context) {
	var client *clientv3.Client
	drop := func() {
		if client != nil {
			_ = client.Close()
			client = nil
		}
	}
	defer drop()
	next := time.NewTicker(pause)
	defer next.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-ctx.Done():
		case <-next.C:
		}
		key := fmt.Sprintf("key-%d", n%keys)
		for ctx.Err() == nil {
			if client == nil {
				var err error
				if client, err = w.connect(ctx); err != nil {
					client = nil
					time.Sleep(20 * time.Millisecond) // nobody tells when there is somebody to connect to
					continue
				}
			}
			once, cancel := context.WithTimeout(ctx, time.Second)
			_, err := client.Put(once, key, strconv.Itoa(n))
			cancel()
			if err == nil {
				w.acknowledged(key, n)
				break
			}
			drop()
		}
	}
}

func (w *Writer) acknowledged(key string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked[key] = n
	if w.puts++; w.puts > 1 {
		w.longest = max(w.longest, time.Since(w.last))
	}
	w.last = time.Now()
}

// Puts is how many puts were acknowledged.
func (w *Writer) Puts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.puts
}

// A Report is what became of the puts.
type Report struct {
	// Puts were acknowledged; of Lost keys the last value is not there.
	Puts, Lost int
	// Longest is the longest time between two that were acknowledged.
	Longest time.Duration
}

func (r Report) String() string {
	return fmt.Sprintf("%d puts acknowledged, %d keys lost, longest gap %s", r.Puts, r.Lost, r.Longest.Round(time.Millisecond))
}

// Stop ends the writer.
func (w *Writer) Stop() {
	w.cancel()
	w.done.Wait()
}

// Verify ends the writer and looks for every key's last acknowledged value, by a
// read that a majority confirms.
func (w *Writer) Verify(ctx context.Context) (Report, error) {
	w.Stop()
	client, err := w.connect(ctx)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = client.Close() }()
	found, err := client.Get(ctx, "key-", clientv3.WithPrefix())
	if err != nil {
		return Report{}, fmt.Errorf("reading what was written: %w", err)
	}
	values := map[string]int{}
	for _, kv := range found.Kvs {
		if values[string(kv.Key)], err = strconv.Atoi(string(kv.Value)); err != nil {
			return Report{}, err
		}
	}
	r := Report{Puts: w.puts, Longest: w.longest}
	for key, n := range w.acked {
		// One that was not acknowledged may have been done all the same.
		if value, ok := values[key]; !ok || value < n {
			r.Lost++
		}
	}
	return r, nil
}
