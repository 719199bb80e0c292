package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// A process is a server under load.
type process struct {
	*exec.Cmd
	name, address string
	log           string
}

// startProcess starts a server whose stderr is a log, and waits until it listens.
func startProcess(ctx context.Context, name, address, folder string, env []string, program string, args ...string) (*process, error) {
	p := &process{Cmd: exec.CommandContext(ctx, program, args...), name: name, address: address, log: filepath.Join(folder, name+".log")}
	stderr, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p.Stderr = stderr
	p.Env = append(append(os.Environ(), "KUBECONFIG="), env...)
	if err := p.Start(); err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil, nil
	})
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("waiting until %s listens on %s: %w", name, address, err)
	}
	return p, nil
}

// child returns the process of that name that this process started.
func child(name string) (*process, error) {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, file := range all {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// "1234 (name) S PARENT …"
		var pid, parent int
		var state string
		before, after, _ := strings.Cut(string(stat), " ("+name+") ")
		if n, _ := fmt.Sscan(before+" "+after, &pid, &state, &parent); n < 3 || parent != os.Getpid() {
			continue
		}
		running, err := os.FindProcess(pid)
		return &process{Cmd: &exec.Cmd{Process: running}, name: name}, err
	}
	return nil, fmt.Errorf("this process started no %s", name)
}

func (p *process) stop() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// cpu returns the processor time of the process so far, by its clock: /proc
// only has hundredths of a second.
func (p *process) cpu() (time.Duration, error) {
	const ofAll = 2 // threads, as CPUCLOCK_SCHED in the kernel
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^p.Process.Pid<<3|ofAll), &now); err != nil {
		return 0, fmt.Errorf("reading the clock of process %d: %w", p.Process.Pid, err)
	}
	return time.Duration(now.Nano()), nil
}

// forgetPeak resets the peak of resident memory to its current value.
func (p *process) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Process.Pid), []byte("5"), 0)
}

var (
	peakLine     = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	residentLine = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)
)

// memory returns a line of /proc/PID/status, in MiB.
func (p *process) memory(line *regexp.Regexp) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return 0, err
	}
	m := line.FindSubmatch(status)
	if m == nil {
		return 0, fmt.Errorf("/proc/%d/status has no %s", p.Process.Pid, line)
	}
	kib, err := strconv.ParseFloat(string(m[1]), 64)
	return kib / 1024, err
}
