package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// addNetwork creates the interface of the node's own programs and enables
// forwarding for pods.
func addNetwork() error {
	added := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: hostInterface}}
	if err := netlink.LinkAdd(added); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("adding the interface %s: %w", hostInterface, err)
	}
	link, err := netlink.LinkByName(hostInterface)
	if err != nil {
		return err
	}
	address, err := netlink.ParseAddr(hostAddress + "/32")
	if err != nil {
		return err
	}
	if err := netlink.AddrReplace(link, address); err != nil {
		return fmt.Errorf("adding the address %s: %w", hostAddress, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	// Without a default route the machine could not reach Services, which have no
	// interface.
	_, services, err := net.ParseCIDR(serviceRange)
	if err != nil {
		return err
	}
	if err := netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: services}); err != nil {
		return fmt.Errorf("adding the route to %s: %w", services, err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return err
	}
	removeTables()
	if out, err := exec.Command("nft", "-f", Folder+"/nat.nft").CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w\n%s", err, out)
	}
	return nil
}

func removeNetwork() error {
	removeTables()
	link, err := netlink.LinkByName(hostInterface)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

// removeTables removes the node's nftables tables. A missing one is not an
// error.
func removeTables() {
	for _, table := range [][2]string{{"ip", natTable}, {"ip", "kube-proxy"}, {"ip6", "kube-proxy"}} {
		_ = exec.Command("nft", "delete", "table", table[0], table[1]).Run()
	}
}

// alive reports whether a process still holds resources: when it ends, it loses
// its name before its ports.
func alive(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	ended, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return ended == 0
}

// removeMounts unmounts what is mounted in the node's folder, the newest first:
// the file systems of containers, the volumes of pods, and their network
// namespaces, with which their interfaces go.
func removeMounts() error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var points []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], Folder+"/") {
			points = append(points, fields[4])
		}
	}
	var failed error
	for _, point := range slices.Backward(points) {
		// Spaces and some other characters are written in octal.
		path, err := strconv.Unquote(`"` + point + `"`)
		if err != nil {
			path = point
		}
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			failed = errors.Join(failed, fmt.Errorf("unmounting %s: %w", path, err))
		}
	}
	return failed
}

// tasks are containerd's running containers, a folder each that is named after
// the container, as its cgroup is.
const tasks = Folder + "/containerd-state/io.containerd.runtime.v2.task/k8s.io"

// killPods kills every process of a pod and removes what the kernel keeps of
// it, as the kubelet and containerd would.
func killPods() error {
	containers, err := os.ReadDir(tasks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := map[string]bool{}
	for _, c := range containers {
		known[c.Name()] = true
	}
	emptied := gone(20*time.Second, func() bool {
		pids := podProcesses(known)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) == 0
	})
	if !emptied {
		return fmt.Errorf("killing the processes of pods: still there as %d", podProcesses(known))
	}
	return errors.Join(removeCgroups(known), removeResults(known))
}

// podProcesses returns the processes whose cgroup is that of a container.
func podProcesses(containers map[string]bool) []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, file := range paths {
		cgroups, err := os.ReadFile(file)
		if err != nil {
			continue // it ended in the meantime
		}
		line, _, _ := strings.Cut(string(cgroups), "\n")
		if !containers[path.Base(line)] {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// removeCgroups removes the cgroups of containers, in the unified hierarchy or
// in each, and their folder unless others are in it.
func removeCgroups(containers map[string]bool) error {
	for _, pattern := range []string{"/sys/fs/cgroup/k8s.io", "/sys/fs/cgroup/*/k8s.io"} {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, folder := range folders {
			for id := range containers {
				// It is busy until the kernel has removed the last process.
				var err error
				removed := gone(10*time.Second, func() bool {
					err = os.Remove(filepath.Join(folder, id))
					return err == nil || errors.Is(err, fs.ErrNotExist)
				})
				if !removed {
					return err
				}
			}
			_ = os.Remove(folder)
		}
	}
	return nil
}

// removeLogLinks removes the links to logs of pods that the kubelet makes in a
// folder that cannot be configured.
func removeLogLinks() error {
	const folder = "/var/log/containers"
	links, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, link := range links {
		link := filepath.Join(folder, link.Name())
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, Folder+"/") {
			if err := os.Remove(link); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeResults removes CNI's records of the interfaces of pods.
func removeResults(containers map[string]bool) error {
	for id := range containers {
		results, err := filepath.Glob("/var/lib/cni/results/*-" + id + "-*")
		if err != nil {
			return err
		}
		for _, result := range results {
			if err := os.Remove(result); err != nil {
				return err
			}
		}
	}
	return nil
}
