// Package etcdserver starts real etcd clusters on loopback for tests.
package etcdserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/usher-dev/usher/test/cluster/components"
)

// A Cluster is a running cluster.
type Cluster struct {
	Members []*Member

	options Options
}

// A Member is one member of a cluster.
type Member struct {
	Name     string
	Endpoint string // URL for clients
	Peer     string // URL for members
	Data     string // its folder

	program string
	args    []string
	cmd     *exec.Cmd
	said    bytes.Buffer
}

// Options change how a cluster starts.
type Options struct {
	// Versions are the minor versions of the first members; the others, and
	// without any all of them, run 3.6.
	Versions []string
	// Flags are further flags of each member, which replace the usual ones.
	Flags []string
	// TLS is the client's configuration if Flags let the members serve with TLS.
	TLS *tls.Config
}

// Start starts a cluster with that many members, with its data below a folder,
// and waits until it answers. The caller stops it.
func Start(ctx context.Context, folder string, size int) (*Cluster, error) {
	return StartWith(ctx, folder, size, Options{})
}

// StartWith is Start with options.
func StartWith(ctx context.Context, folder string, size int, o Options) (*Cluster, error) {
	c := &Cluster{options: o}
	var peers []string
	for i := range size {
		m, err := c.member(ctx, filepath.Join(folder, fmt.Sprintf("m%d", i)))
		if err != nil {
			return nil, err
		}
		peers = append(peers, m.Name+"="+m.Peer)
	}
	for _, m := range c.Members {
		m.args = append(m.args, "--initial-cluster="+strings.Join(peers, ","), "--initial-cluster-token="+folder)
		if err := m.Start(); err != nil {
			c.Stop()
			return nil, err
		}
	}
	if err := c.untilAnswering(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// member adds a member, which does not run, to the list.
func (c *Cluster) member(ctx context.Context, data string) (*Member, error) {
	i := len(c.Members)
	minor := "3.6"
	if i < len(c.options.Versions) {
		minor = c.options.Versions[i]
	}
	programs, err := components.Ensure(ctx, os.Stderr, "etcd-"+minor)
	if err != nil {
		return nil, err
	}
	m, err := newMember(programs, fmt.Sprintf("m%d", i), data)
	if err != nil {
		return nil, err
	}
	m.program = filepath.Join(programs, "etcd-"+minor)
	if c.options.TLS != nil {
		secure := strings.Replace(m.Endpoint, "http:", "https:", 1)
		m.args = append(m.args, "--listen-client-urls="+secure, "--advertise-client-urls="+secure)
		m.Endpoint = secure
	}
	m.args = append(m.args, c.options.Flags...)
	c.Members = append(c.Members, m)
	return m, nil
}

// Join returns one more member, with its data in a folder, that can start once it
// was added with its peer URL.
func (c *Cluster) Join(ctx context.Context, data string) (*Member, error) {
	m, err := c.member(ctx, data)
	if err != nil {
		return nil, err
	}
	var peers []string
	for _, of := range c.Members {
		peers = append(peers, of.Name+"="+of.Peer)
	}
	m.args = append(m.args, "--initial-cluster="+strings.Join(peers, ","), "--initial-cluster-state=existing")
	return m, nil
}

// Restore starts a cluster with one member from a snapshot file.
func Restore(ctx context.Context, file, folder string) (*Cluster, error) {
	programs, err := etcdPrograms(ctx)
	if err != nil {
		return nil, err
	}
	m, err := newMember(programs, "restored", folder)
	if err != nil {
		return nil, err
	}
	m.args = append(m.args, "--initial-cluster="+m.Name+"="+m.Peer)
	out, err := exec.CommandContext(ctx, filepath.Join(programs, "etcdutl-3.6"), "snapshot", "restore", file, "--data-dir="+folder, "--name="+m.Name,
		"--initial-cluster="+m.Name+"="+m.Peer, "--initial-advertise-peer-urls="+m.Peer).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("restoring %s: %w\n%s", file, err, out)
	}
	c := &Cluster{Members: []*Member{m}}
	if err := m.Start(); err != nil {
		return nil, err
	}
	if err := c.untilAnswering(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Fork starts a second member on a copy of a member's data. Each considers
// itself the only member of its cluster, as after a volume was cloned.
func Fork(ctx context.Context, of *Member, data string) (*Cluster, error) {
	programs, err := etcdPrograms(ctx)
	if err != nil {
		return nil, err
	}
	m, err := newMember(programs, of.Name, data)
	if err != nil {
		return nil, err
	}
	m.args = append(m.args, "--initial-cluster="+m.Name+"="+m.Peer)
	c := &Cluster{Members: []*Member{m}}
	if err := m.Start(); err != nil {
		return nil, err
	}
	if err := c.untilAnswering(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// etcdPrograms builds etcd and etcdutl, and returns their folder.
func etcdPrograms(ctx context.Context) (string, error) {
	return components.Ensure(ctx, os.Stderr, "etcd-3.6", "etcdutl-3.6")
}

func newMember(programs, name, data string) (*Member, error) {
	client, err := freeURL()
	if err != nil {
		return nil, err
	}
	peer, err := freeURL()
	if err != nil {
		return nil, err
	}
	return &Member{Name: name, Endpoint: client, Data: data, Peer: peer, program: filepath.Join(programs, "etcd-3.6"), args: []string{
		"--name=" + name, "--data-dir=" + data, "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--quota-backend-bytes=8589934592", "--log-level=warn", "--unsafe-no-fsync",
	}}, nil
}

// freeURL returns an address whose port is free. The port is not from the range
// of which systems give ports to connections: one of another process could take
// it before etcd listens on it.
func freeURL() (string, error) {
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))); err == nil {
			return "http://" + l.Addr().String(), l.Close()
		}
	}
	return "", err
}

// Start starts the member with its data.
func (m *Member) Start() error {
	m.cmd = exec.Command(m.program, m.args...)
	m.cmd.Stdout, m.cmd.Stderr = &m.said, &m.said
	return m.cmd.Start()
}

func (c *Cluster) untilAnswering(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		within, cancel := context.WithTimeout(ctx, time.Second)
		_, err := client.Get(within, "health")
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("etcd does not answer: %w\n%s", err, c.Members[0].said.Bytes())
		}
	}
}

// Endpoints returns the members' URLs.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.Endpoint)
	}
	return all
}

// Client connects to the cluster.
func (c *Cluster) Client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), TLS: c.options.TLS, Logger: zap.NewNop(), DialTimeout: 5 * time.Second})
}

// Stop kills every member, and keeps the data.
func (c *Cluster) Stop() {
	for _, m := range c.Members {
		m.Stop()
	}
}

// Suspend stops the member's process, which keeps its connections and answers
// nothing, until Resume.
func (m *Member) Suspend() error { return m.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume continues after Suspend.
func (m *Member) Resume() error { return m.cmd.Process.Signal(syscall.SIGCONT) }

// Stop kills the member, so that it cannot notify the others.
func (m *Member) Stop() {
	if m.cmd == nil || m.cmd.Process == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	m.cmd = nil
}

// Lose stops every member and deletes the data.
func (c *Cluster) Lose() error {
	c.Stop()
	for _, m := range c.Members {
		if err := os.RemoveAll(m.Data); err != nil {
			return err
		}
	}
	return nil
}
