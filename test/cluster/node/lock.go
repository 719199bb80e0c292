package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// lockFile outlives the node's folder. The kernel releases the lock of a
// process that dies.
const lockFile = Folder + ".lock"

// lock queues for the machine's node.
func lock(ctx context.Context, progress io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	told := false
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK {
			return true, err
		}
		if !told {
			holder, _ := os.ReadFile(lockFile)
			fmt.Fprintf(progress, "waiting for the node, which %s has\n", strings.TrimSpace(string(holder)))
			told = true
		}
		return false, nil
	})
	if err == nil {
		err = sign(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", lockFile, err)
	}
	return func() { f.Close() }, nil
}

// sign records who holds the lock, for those who wait.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	dir, _ := os.Getwd()
	_, err := f.WriteAt(fmt.Appendf(nil, "process %d in %s\n", os.Getpid(), dir), 0)
	return err
}
