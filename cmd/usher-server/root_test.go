package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// usher runs the server's program like its image does.
func usher(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = cli.Execute(t.Context(), newRoot(), args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// TestCommandsOfThePreviousRelease parses the arguments in existing manifests
// and pods, which a new image must accept: those that release 936601f installed
// or created, and the current ones.
func TestCommandsOfThePreviousRelease(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "commands-936601f.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	if err := yaml.UnmarshalStrict(text, &commands); err != nil {
		t.Fatal(err)
	}
	commands = append(commands, manifestCommands(t)...)
	for _, args := range commands {
		t.Run(args[0], func(t *testing.T) {
			if err := parse(newRoot(), args); err != nil {
				t.Errorf("%q: %v", args, err)
			}
		})
	}
}

// parse does the same as Execute, except for running the command.
func parse(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
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

func TestCommandsOfTheCommandLineAreNamed(t *testing.T) {
	const want = "Error: usher-server has no command \"check\", and the image contains only the server; run \"usher check\" with the command line\n"
	status, _, stderr := usher(t, "check", "--level=strict", "deploy/")
	if status != cli.Usage || stderr != want {
		t.Errorf("exit status %d, stderr %q, want %q", status, stderr, want)
	}
}

// TestTheServerLinksNothingOfTheCommandLine keeps what only the command line
// needs out of the server and out of the pods that run its image.
func TestTheServerLinksNothingOfTheCommandLine(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "github.com/usher-dev/usher/webhook") {
		t.Fatal("the server does not link the webhook: the list is not of the server")
	}
	for _, only := range []string{
		"github.com/usher-dev/usher/cmd/usher", "github.com/usher-dev/usher/facts/files",
		"github.com/usher-dev/usher/apiserver",
		"k8s.io/kubernetes", "k8s.io/kubectl", "helm.sh/helm", "sigs.k8s.io/kustomize",
	} {
		for _, pkg := range linked {
			if pkg == only || strings.HasPrefix(pkg, only+"/") {
				t.Errorf("the server links %s; only the command line may", pkg)
			}
		}
	}
}
