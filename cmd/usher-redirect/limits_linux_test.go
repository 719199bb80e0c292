package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The limits of the program, which is loaded once for each pod that redirects.
const (
	mostBytes    = 5 << 20
	mostResident = 12 << 10 // KiB
)

// TestTheProgramIsSmall runs the program as the image has it, with as many rules
// as its flags accept, and stops it while it prints them.
func TestTheProgramIsSmall(t *testing.T) {
	program := filepath.Join(t.TempDir(), "usher-redirect")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > mostBytes {
		t.Errorf("it has %d bytes, want %d at most", info.Size(), mostBytes)
	}
	ports, networks := make([]string, 256), make([]string, 256)
	for i := range ports {
		ports[i], networks[i] = strconv.Itoa(i+1), fmt.Sprintf("10.%d.0.0/16,", i)
	}
	cmd := exec.Command(program, "--dry-run", "--inbound-port=15006", "--outbound-port=15001", "--proxy-uid="+strings.Join(ports, ","),
		"--proxy-gid="+strings.Join(ports, ","), "--exclude-inbound-ports="+strings.Join(ports, ","),
		"--exclude-outbound-ports="+strings.Join(ports, ","), "--exclude-cidrs="+strings.TrimSuffix(strings.Join(networks, ""), ","))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The rules exceed a pipe's buffer, so the program waits until they are read.
	if _, err := bufio.NewReaderSize(out, 16).ReadByte(); err != nil {
		t.Fatal(err)
	}
	peak := peakResident(t, cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if t.Logf("%d bytes, at most %d KiB resident", info.Size(), peak); peak > mostResident {
		t.Errorf("it has %d KiB resident, want %d at most", peak, mostResident)
	}
}

// peakResident is the peak resident memory of a process in KiB.
func peakResident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib
		}
	}
	t.Fatalf("the process has ended:\n%s", text)
	return 0
}
