package traffic_test

import (
	"context"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/test/etcdserver"
	"github.com/usher-dev/usher/test/history"
	"github.com/usher-dev/usher/test/traffic"
)

// start starts a real cluster.
func start(t *testing.T, size int) *etcdserver.Cluster {
	t.Helper()
	c, err := etcdserver.Start(t.Context(), t.TempDir(), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// to connects to some members of clusters.
func to(members ...*etcdserver.Member) traffic.Connect {
	var endpoints []string
	for _, m := range members {
		endpoints = append(endpoints, m.Endpoint)
	}
	return func(ctx context.Context) (*clientv3.Client, error) {
		return clientv3.New(clientv3.Config{Context: ctx, Endpoints: endpoints, Logger: zap.NewNop()})
	}
}

// write starts traffic, and waits until that many writes were acknowledged.
func write(t *testing.T, connect traffic.Connect, writes int) *traffic.Traffic {
	t.Helper()
	running := traffic.Start(t.Context(), connect)
	t.Cleanup(running.Stop)
	more(t, running, writes)
	return running
}

// more waits for more writes.
func more(t *testing.T, running *traffic.Traffic, writes int) {
	t.Helper()
	until(t, running, running.Writes()+writes)
}

func until(t *testing.T, running *traffic.Traffic, writes int) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return running.Writes() >= writes, nil
	})
	if err != nil {
		t.Fatalf("%d of %d writes were acknowledged: %v", running.Writes(), writes, err)
	}
}

// finish ends the traffic.
func finish(t *testing.T, running *traffic.Traffic, members traffic.Connect) history.History {
	t.Helper()
	h, err := running.Finish(t.Context(), members)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copyData copies a member's data.
func copyData(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir() + "/copy"
	must(t, os.CopyFS(to, os.DirFS(from)))
	return to
}
