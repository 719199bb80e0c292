//go:build e2e

package backup_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/usher-dev/usher/test/etcdserver"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// maxGrowth is how much more memory a store of any size may need than a small
// one.
const maxGrowth = 120 << 20

// TestMemoryDoesNotGrowWithTheStore saves a store of the size
// USHER_TEST_STORE_MIB, by default 300, and checks the memory of the
// controller.
func TestMemoryDoesNotGrowWithTheStore(t *testing.T) {
	size := 300
	if set := os.Getenv("USHER_TEST_STORE_MIB"); set != "" {
		var err error
		if size, err = strconv.Atoi(set); err != nil {
			t.Fatal(err)
		}
	}
	cluster, err := etcdserver.Start(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Stop()
	fill(t, etcd(t, cluster), size<<20)
	process := startProcess(t)
	ns := namespace(t)
	small := backup(ns, world.s3.Address, "backups/size/small-"+ns)
	small.Name = "small"
	create(t, small)
	until(t, small, succeeded)
	before := peak(t, process.Process.Pid)
	large := backup(ns, world.s3.Address, "backups/size/"+ns)
	large.Spec.EtcdEndpoints = cluster.Endpoints()
	large.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{TimeoutInSecond: 600}
	create(t, large)
	s := until(t, large, succeeded).Status
	after := peak(t, process.Process.Pid)
	t.Logf("%d MiB were saved in %s; the controller's peak was %d MiB, and %d MiB before", s.SizeBytes>>20, s.Duration.Round(time.Millisecond), after>>20, before>>20)
	if after-before > maxGrowth {
		t.Errorf("the peak grew by %d MiB", (after-before)>>20)
	}
}

// peak returns the maximum memory of a process.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("the kernel does not tell")
	return 0
}
