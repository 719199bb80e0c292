package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFailedStartLeavesNothingRunning asks for missing definitions, which
// fails after both programs have started.
func TestAFailedStartLeavesNothingRunning(t *testing.T) {
	data := t.TempDir()
	t.Setenv("TMPDIR", data)
	if _, err := Start(os.Stderr, filepath.Join(data, "no-such-folder")); err == nil {
		t.Fatal("started without the definitions")
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		// A process may end in the meantime.
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), data) {
			t.Errorf("still running: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}
