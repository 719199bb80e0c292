package backup_test

import (
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/test/etcdserver"
)

// A balancer listens at an address like a Service: each connection leads to the
// next server.
type balancer struct {
	listener net.Listener
	mu       sync.Mutex
	next     int
	to       []string
}

func balance(t *testing.T, to ...string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	b := &balancer{listener: l, to: to}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(c)
		}
	}()
	return b
}

// host returns the address of a cluster's only member.
func host(c *etcdserver.Cluster) string { return strings.TrimPrefix(c.Endpoints()[0], "http://") }

// start sets where the next connection leads.
func (b *balancer) start(at int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = at
}

func (b *balancer) serve(down net.Conn) {
	defer down.Close()
	b.mu.Lock()
	at := b.to[b.next%len(b.to)]
	b.next++
	b.mu.Unlock()
	up, err := net.Dial("tcp", at)
	if err != nil {
		return
	}
	defer up.Close()
	go func() { _, _ = io.Copy(up, down); up.Close() }()
	_, _ = io.Copy(down, up)
}

// TestABackupHoldsTheRevisionThatItClaims saves through an endpoint whose
// connections lead in turns to a member and to one that lags behind.
func TestABackupHoldsTheRevisionThatItClaims(t *testing.T) {
	shareController(t)
	ahead, err := etcdserver.Start(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer ahead.Stop()
	put(t, etcd(t, ahead), "hold", "before")
	lagging := t.TempDir()
	ahead.Members[0].Stop()
	if err := os.CopyFS(lagging, os.DirFS(ahead.Members[0].Data)); err != nil {
		t.Fatal(err)
	}
	if err := ahead.Members[0].Start(); err != nil {
		t.Fatal(err)
	}
	behind, err := etcdserver.Fork(t.Context(), ahead.Members[0], lagging)
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Stop()
	written := etcd(t, ahead)
	for range 9 {
		put(t, written, "hold", "value")
	}
	service := balance(t, host(ahead), host(behind))
	ns := namespace(t)
	now := time.Now()
	for first := range 4 {
		service.start(first)
		b := backup(ns, world.s3.Address, "backups/hold/"+ns)
		b.Spec.EtcdEndpoints = []string{"http://" + service.listener.Addr().String()}
		b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
		path, err := etcdbackup.Save(t.Context(), world.client, b, now.Add(time.Duration(first)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		claimed := etcdbackup.RevisionIn(path)
		if holds := examine(t, world.s3.File("backups", path[len("backups/"):])); holds < claimed {
			t.Errorf("if connection %d is the first, the backup claims revision %d and holds %d", first, claimed, holds)
		}
	}
}
