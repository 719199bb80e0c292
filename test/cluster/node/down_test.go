//go:build e2e && linux

package node

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
)

const runs = `{apiVersion: v1, kind: Pod, metadata: {name: runs}, spec: {
containers: [{name: c, image: '` + pauseImage + `', volumeMounts: [{name: d, mountPath: /d}]}],
volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}
`

// TestACrashedNodeIsReplacedAndLeavesNothing kills the process that would clean
// up, so that the next one has to find the rest of the node.
func TestACrashedNodeIsReplacedAndLeavesNothing(t *testing.T) {
	if name, ok := another(); ok {
		t.Skipf("%v: %s", ErrNoMachine, name)
	}
	n, err := Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	runPod(t, n)
	ran := containers(t)
	pids := map[int]bool{}
	for _, program := range []string{criRuntime.program, "kubelet", shim, apiserver.program, storage.program} {
		for _, pid := range running(program) {
			pids[pid] = true
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.Keep()
	if err := n.Release(); err != nil {
		t.Fatal(err)
	}

	n, err = Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range running(apiserver.program) {
		if pids[pid] {
			t.Errorf("kube-apiserver still has the pid %d", pid)
		}
	}
	runPod(t, n)
	ran = append(ran, containers(t)...)
	if err := n.Release(); err != nil {
		t.Fatal(err)
	}
	for _, p := range all() {
		if pids := running(p.program); len(pids) > 0 {
			t.Errorf("%s still runs as %d", p.program, pids)
		}
	}
	nothingLeft(t, ran)
}

func runPod(t *testing.T, n *Node) {
	t.Helper()
	for _, args := range [][]string{{"apply", "-f", "-"}, {"wait", "--for=condition=Ready", "pod/runs", "--timeout=120s"}} {
		if out, err := n.Kubectl(t.Context(), "---\n"+runs, args...); err != nil {
			n.Dump(t.Context(), t.Output(), "default")
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// containers returns the ids of those that run.
func containers(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(tasks)
	if err != nil || len(entries) == 0 {
		t.Fatalf("no containers: %v", err)
	}
	var ids []string
	for _, entry := range entries {
		ids = append(ids, entry.Name())
	}
	return ids
}

// nothingLeft checks that the kernel and other programs keep nothing of a node.
func nothingLeft(t *testing.T, containers []string) {
	t.Helper()
	if _, err := os.Stat(Folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", Folder, err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), Folder+"/") {
		t.Errorf("something is still mounted:\n%s", mounts)
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range addresses {
			if ip := address.IP.String(); ip == hostAddress || strings.HasPrefix(ip, "10.244.0.") {
				t.Errorf("the interface %s is still there with %s", link.Attrs().Name, ip)
			}
		}
	}
	tables, err := exec.Command("nft", "list", "tables").CombinedOutput()
	if err != nil || strings.Contains(string(tables), natTable) || strings.Contains(string(tables), "kube-proxy") {
		t.Errorf("%v, nftables has:\n%s", err, tables)
	}
	for _, id := range containers {
		for _, pattern := range []string{"/sys/fs/cgroup/k8s.io/", "/sys/fs/cgroup/*/k8s.io/", "/var/lib/cni/results/*"} {
			if left, _ := filepath.Glob(pattern + id + "*"); len(left) > 0 {
				t.Errorf("of a container there is still %v", left)
			}
		}
	}
}
