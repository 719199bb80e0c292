package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/binaries"
)

// image is the entrypoint in a folder with the programs of the main image.
var image string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	folder, err := os.MkdirTemp("", "usher-entrypoint-")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		image, err = binaries.Entrypoint(filepath.Join("..", ".."), folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestCommandsOfThePreviousRelease runs the arguments in existing manifests and
// pods, which a new image must accept: those that releases 936601f and 64a732d
// installed or created, and the current ones. With the additional argument
// --help each program parses the flags before it and does nothing.
func TestCommandsOfThePreviousRelease(t *testing.T) {
	commands := manifestCommands(t)
	for _, release := range []string{"936601f", "64a732d"} {
		text, err := os.ReadFile(filepath.Join("testdata", "commands-"+release+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var of [][]string
		if err := yaml.UnmarshalStrict(text, &of); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, of...)
	}
	for _, args := range commands {
		t.Run(args[0], func(t *testing.T) {
			if out, err := exec.Command(image, withHelp(args)...).CombinedOutput(); err != nil || !strings.Contains(string(out), " --") && args[0] != "version" {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
		})
	}
}

// withHelp adds --help to the flags.
func withHelp(args []string) []string {
	if args[0] == "version" {
		return args
	}
	at := len(args)
	if dashes := slices.Index(args, "--"); dashes >= 0 {
		at = dashes
	}
	return slices.Insert(slices.Clone(args), at, "--help")
}

// TestUnknownFlagsOfACommandAreRefused shows that --help does not hide them.
func TestUnknownFlagsOfACommandAreRefused(t *testing.T) {
	for _, c := range commands {
		out, err := exec.Command(image, c.name, "--no-such-flag", "--help").CombinedOutput()
		var failed *exec.ExitError
		if !errors.As(err, &failed) || failed.ExitCode() != usage || !strings.Contains(string(out), "no-such-flag") {
			t.Errorf("%s: %v, %s", c.name, err, out)
		}
	}
}

func TestAMissingProgramNamesTheImageThatHasIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usher")
	if err := os.Link(image, path); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "webhook", "--namespace=a").CombinedOutput()
	const want = "Error: this image does not contain usher-webhook: \"/usher webhook\" needs usher's main image, not the one for pods\n"
	if err == nil || string(out) != want {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
}

func TestCommandsOfTheCommandLineAreNamed(t *testing.T) {
	var out, errs bytes.Buffer
	status := run([]string{"check", "--level=strict", "deploy/"}, &out, &errs)
	const want = "Error: usher's image has no command \"check\", and does not contain the command line: run \"usher check\" with the command line\n"
	if diff := cmp.Diff(want, errs.String()); status != usage || diff != "" {
		t.Errorf("exit status %d, stderr (-want +got):\n%s", status, diff)
	}
}

// manifestCommands returns the arguments of the containers in deploy/usher.yaml.
func manifestCommands(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "usher.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var object struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct{ Command, Args []string }
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			if len(c.Command) > 0 {
				t.Errorf("a container of usher.yaml has the command %q; the image's entrypoint is what runs", c.Command)
			}
			commands = append(commands, c.Args)
		}
	}
	if len(commands) != 2 {
		t.Fatalf("usher.yaml has %d containers, want the webhook's and the controller's", len(commands))
	}
	return commands
}
