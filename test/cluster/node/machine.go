package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/usher-dev/usher/test/cluster/components"
)

// A machine is this one, as the host of the node. Changes need the lock.
type machine struct {
	bin      string // folder of the programs
	progress io.Writer
}

func newMachine(ctx context.Context, progress io.Writer) (*machine, error) {
	programs := []string{shim, "ctr", "kubectl", "pause", "loopback", "ptp", "host-local"}
	for _, p := range all() {
		programs = append(programs, p.program)
	}
	bin, err := components.Ensure(ctx, progress, programs...)
	if err != nil {
		return nil, err
	}
	return &machine{bin: bin, progress: progress}, nil
}

func (m *machine) program(name string) string {
	return filepath.Join(m.bin, name)
}

func (m *machine) say(format string, args ...any) {
	fmt.Fprintf(m.progress, format+"\n", args...)
}

// up starts the node, unless a matching one runs. It first removes what a crash
// or another version left.
func (m *machine) up(ctx context.Context) (started bool, err error) {
	if m.whole(ctx) {
		return false, nil
	}
	if err := m.down(); err != nil {
		return false, err
	}
	begin := time.Now()
	if err := m.fresh(ctx); err != nil {
		return true, errors.Join(err, m.down())
	}
	m.say("the node is ready after %s", time.Since(begin).Round(100*time.Millisecond))
	return true, nil
}

// identity identifies a node that can be taken over.
func (m *machine) identity() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, m.bin)
	for _, p := range all() {
		fmt.Fprintln(&b, p.program, p.args)
	}
	entries, err := files.ReadDir("files")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		data, err := files.ReadFile("files/" + entry.Name())
		if err != nil {
			return nil, err
		}
		b.Write(data)
	}
	return b.Bytes(), nil
}

const identityFile = Folder + "/identity"

// whole reports whether all programs of a node run, with this identity.
func (m *machine) whole(ctx context.Context) bool {
	want, err := m.identity()
	if err != nil {
		return false
	}
	if got, err := os.ReadFile(identityFile); err != nil || !bytes.Equal(got, want) {
		return false
	}
	for _, p := range all() {
		if len(running(p.program)) == 0 {
			return false
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return m.ready(ctx) == nil
}

// fresh creates the node's folder and starts everything in it.
func (m *machine) fresh(ctx context.Context) error {
	for _, dir := range []string{pki, Folder + "/log", Folder + "/cni"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := errors.Join(m.writeFiles(), writeCertificates()); err != nil {
		return err
	}
	if err := writeKubeconfig(); err != nil {
		return err
	}
	if err := m.start(ctx); err != nil {
		return err
	}
	// Last, so that an interrupted start is not taken over.
	identity, err := m.identity()
	if err != nil {
		return err
	}
	return os.WriteFile(identityFile, identity, 0o644)
}

// start starts every program and waits until the node is ready.
func (m *machine) start(ctx context.Context) error {
	if err := addNetwork(); err != nil {
		return err
	}
	m.say("starting etcd, kube-apiserver, containerd")
	for _, p := range []process{criRuntime, storage, apiserver} {
		if err := p.start(m.program(p.program)); err != nil {
			return err
		}
	}
	if err := m.loadPause(ctx); err != nil {
		return err
	}
	if err := m.untilServing(ctx); err != nil {
		return err
	}
	m.say("starting kubelet, kube-proxy, controllers, CoreDNS")
	for _, p := range others {
		if err := p.start(m.program(p.program)); err != nil {
			return err
		}
	}
	if err := run(exec.CommandContext(ctx, m.program("kubectl"), "--kubeconfig="+Kubeconfig, "apply", "-f", Folder+"/storage.yaml")); err != nil {
		return err
	}
	return m.untilReady(ctx)
}

// stop stops every program and pod, and keeps their data.
func (m *machine) stop() error {
	var failed error
	for _, p := range slices.Backward(others) {
		failed = errors.Join(failed, end(p.program))
	}
	failed = errors.Join(failed, end(criRuntime.program), killPods(), end(shim))
	for _, p := range []process{apiserver, storage} {
		failed = errors.Join(failed, end(p.program))
	}
	failed = errors.Join(failed, removeMounts(), removeNetwork())
	if failed != nil {
		return failed // mounted folders must not be removed
	}
	// Other machines keep it in memory.
	return errors.Join(os.RemoveAll(Folder+"/containerd-state"), os.RemoveAll(Folder+"/cni-addresses"))
}

// down stops and removes everything of a node.
func (m *machine) down() error {
	if err := m.stop(); err != nil {
		return fmt.Errorf("taking the node down: %w", err)
	}
	return errors.Join(removeLogLinks(), os.RemoveAll(Folder))
}
