package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A process is one program of the node. It outlives its starter, and is found
// by its name and by the node's folder in its arguments: after a crash, a pid
// file could name another process.
type process struct {
	program string // file name of the binary
	args    []string
}

// start starts the process in a session of its own, and appends its output to a
// log.
func (p process) start(binary string) error {
	log, err := os.OpenFile(logFile(p.program), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(binary, p.args...)
	cmd.Dir = Folder
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+":/usr/sbin:/usr/bin:/sbin:/bin")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.program, err)
	}
	go func() { _ = cmd.Wait() }() // so that it does not stay as a zombie
	return nil
}

func logFile(program string) string {
	return filepath.Join(Folder, "log", program+".log")
}

// running returns the pids of a program's processes that belong to the node.
func running(program string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file) // empty for zombies
		if err != nil {
			continue
		}
		name, args, _ := bytes.Cut(line, []byte{0})
		if filepath.Base(string(name)) != program || !bytes.Contains(args, []byte(Folder+"/")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end asks the processes of a program to end, and kills the remaining ones.
func end(program string) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		pids := running(program)
		for _, pid := range pids {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("ending %s: %w", program, err)
			}
		}
		if gone(10*time.Second, func() bool { return !slices.ContainsFunc(pids, alive) }) {
			return nil
		}
	}
	return fmt.Errorf("ending %s: still there as %d", program, running(program))
}

func gone(within time.Duration, condition func() bool) bool {
	return wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, within, true, func(context.Context) (bool, error) {
		return condition(), nil
	}) == nil
}

// lastLines returns the end of a program's log.
func lastLines(program string, count int) string {
	data, err := os.ReadFile(logFile(program))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
