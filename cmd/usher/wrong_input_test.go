package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

var record = flag.Bool("record", false, "write what wrong inputs print into testdata/wrong/input.txt")

// inside are words of libraries and of Go that no message may contain.
var inside = regexp.MustCompile(`(^|[^.\w])(json|yaml|time): |unmarshal|arg\(s\)|strconv\.|converting YAML|Go struct|Go value|interface \{\}|map\[string\]|invalid argument|invalid syntax|unknown (shorthand )?flag|unknown command|flag needs|goroutine|%!|runtime error|RFC 1123`)

// TestWrongInput plays testdata/wrong/input.txt, which has a command line, what it
// prints, and its exit status. Each command of the command line is among them.
//
//	go test ./cmd/usher -run WrongInput -record
func TestWrongInput(t *testing.T) {
	const table = "testdata/wrong/input.txt"
	table0, err := filepath.Abs(table)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(table0)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Chdir("testdata/wrong/files")

	untried := map[string]bool{}
	commands(t, func(cmd *cobra.Command, _ []string) {
		if cmd.IsAvailableCommand() && !strings.HasPrefix(cmd.CommandPath(), "usher completion ") {
			untried[cmd.CommandPath()] = true
		}
	})
	var played strings.Builder
	for i, entry := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		var comments []string
		lines := strings.Split(entry, "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
			comments, lines = append(comments, lines[0]+"\n"), lines[1:]
		}
		if i > 0 {
			played.WriteString("\n")
		}
		played.WriteString(strings.Join(comments, ""))
		if len(lines) == 0 {
			continue
		}
		line, ok := strings.CutPrefix(lines[0], "$ usher ")
		if !ok && lines[0] != "$ usher" {
			t.Fatalf("%s: %q is not a command line", table, lines[0])
		}
		args := shellWords(line)
		status, out, errs := invoke("", args...)
		got := fmt.Sprintf("%s\n%s[%d]\n", lines[0], out+errs, status)
		played.WriteString(got)
		if found := inside.FindString(out + errs); found != "" {
			t.Errorf("%q is not for users:\n%s", found, got)
		}
		if status == cli.Clean {
			t.Errorf("is not an error:\n%s", got)
		}
		if diff := cmp.Diff(strings.Join(lines, "\n")+"\n", got); diff != "" && !*record {
			t.Errorf("%s (-want +got):\n%s", lines[0], diff)
		}
		if cmd, _, err := newRoot(streams{}).Find(args); err == nil {
			delete(untried, cmd.CommandPath())
		}
	}
	if *record {
		if err := os.WriteFile(table0, []byte(played.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for command := range untried {
		t.Errorf("%s has no wrong input for %s", table, command)
	}
}

// shellWords splits a command line, whose words may be in single quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
