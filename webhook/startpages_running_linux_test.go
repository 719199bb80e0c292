package webhook_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// mapWhole reads the program's code from memory, which maps all of it, and
// returns its size in KiB.
func mapWhole(t *testing.T) (size int) {
	t.Helper()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil || mode != "r-xp" || !strings.HasSuffix(line, program+"\n") {
			continue
		}
		n, err := io.Copy(io.Discard, io.NewSectionReader(memory, from, to-from))
		if err != nil {
			t.Fatal(err)
		}
		size += int(n) / 1024
	}
	return size
}

// mappedFiles returns how much of files is mapped, in KiB.
func mappedFiles(t *testing.T) (size int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssFile:")
	if _, err := fmt.Sscan(after, &size); err != nil {
		t.Fatalf("RssFile in /proc/self/status: %v\n%s", err, status)
	}
	return size
}

func TestReplica_WhenReady_ReturnsThePagesOfItsStart(t *testing.T) {
	c := webhooktest.Started(t)
	code := mapWhole(t)
	if mapped := mappedFiles(t); mapped < code || code == 0 {
		t.Fatalf("%d KiB are mapped, of which the code has %d", mapped, code)
	}
	replica, err := usherwebhook.StartUnregistered(t.Context(), c.Plane, webhooktest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := replica.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c.Until(t, "part of the code is not mapped", func() bool { return mappedFiles(t) < code })
}
