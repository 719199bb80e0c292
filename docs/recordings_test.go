package docs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recording is a command that a document shows with its output: see tools/record.
var recording = regexp.MustCompile("(?s)<!-- run: ([^\n]+) -->\n```console\n(.*?)\n```\n")

// TestRecordings runs the commands whose output documents show.
func TestRecordings(t *testing.T) {
	folder, err := filepath.Abs(filepath.Dir(program))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, name := range documents(t) {
		for _, found := range recording.FindAllStringSubmatch(read(t, name), -1) {
			count++
			command, shown := found[1], found[2]
			cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1", "LC_ALL=C.UTF-8")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
				t.Errorf("%s: %s: %v\n%s", name, command, err, out)
				continue
			}
			want := "$ " + command + "\n" + strings.TrimRight(string(out), "\n")
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("%s: make recording writes what the command prints (-prints +shown):\n%s", name, diff)
			}
		}
	}
	if count < 5 {
		t.Errorf("found %d recordings", count)
	}
}
