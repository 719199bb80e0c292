package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// asUsher makes the test binary run as the command line, in a separate process.
const asUsher = "USHER_TEST_RUNS_AS_USHER"

// process returns the command line as a process, and its output.
func process(t *testing.T, args ...string) (p *exec.Cmd, out, errs *bytes.Buffer) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	p = exec.CommandContext(t.Context(), program, args...)
	p.Dir, p.Stdout, p.Stderr = t.TempDir(), out, errs
	p.Env = append(os.Environ(), asUsher+"=1", "KUBECONFIG=")
	return p, out, errs
}

// silentCluster is a server that accepts requests and never answers. requested
// gets a value for each request.
func silentCluster(t *testing.T) (kubeconfig string, requested <-chan string) {
	t.Helper()
	requests := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client left
		requests <- r.URL.Path
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return kubeconfigFor(t, server.URL), requests
}

// kubeconfigFor writes a kubeconfig with the contexts test and staging.
func kubeconfigFor(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {}}]
contexts:
- {name: test, context: {cluster: test, user: test, namespace: team}}
- {name: staging, context: {cluster: test, user: test}}
current-context: test
`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInterrupt_EndsEveryCommand(t *testing.T) {
	manifest := writeFile(t, "pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}")
	reads := map[string][][]string{ // of standard input
		"check":           {{"-"}, {"-f", "-"}, {"-t", "-", manifest}},
		"diff":            {{"-", manifest}, {manifest, "-"}},
		"explain":         {{"-f", "-"}},
		"explain cronjob": {{"-"}},
		"explain pod":     {{"-f", "-"}},
		"inject":          {{"-"}, {"-f", manifest, "-t", "-"}},
		"install":         {{"-f", "-"}},
		"migrate":         {{"-"}},
	}
	asks := map[string][][]string{ // a cluster
		"check":             {{"--cluster", manifest}, {"--cluster-crds", manifest}},
		"diff":              {{"--live", manifest}},
		"drift":             {nil, {"-A"}, {"-w"}, {"deployment/api"}, {"--restart"}, {"--restart", "--dry-run=server"}},
		"explain":           {{"deployment/api"}, {"-l", "app=api"}},
		"explain namespace": {{"team"}},
		"explain pod":       {{"api-1"}},
		"status":            {nil, {"--pre"}},
		"uninstall":         {nil, {"--dry-run"}},
	}
	connects := map[string][][]string{ // to etcd
		"etcd doctor": {{"--endpoints"}, {"--cluster", "--endpoints"}},
	}
	ends := []string{"", "completion", "completion bash", "completion fish", "completion powershell", "completion zsh", "etcd", "explain reason", "explain rule", "rules", "transitions", "version"}
	commands(t, func(cmd *cobra.Command, words []string) {
		name := strings.Join(words, " ")
		if !slices.Contains(serverCommands, name) && reads[name] == nil && asks[name] == nil && connects[name] == nil && !slices.Contains(ends, name) {
			t.Errorf("%s is in none of the lists", cmd.CommandPath())
		}
	})
	interrupt := func(t *testing.T, p *exec.Cmd, out, errs *bytes.Buffer) {
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait()
		if diff := cmp.Diff([]any{cli.Interrupted, "", "Interrupted.\n"}, []any{p.ProcessState.ExitCode(), out.String(), errs.String()}); diff != "" {
			t.Errorf("exit status, stdout and stderr (-want +got):\n%s", diff)
		}
	}
	for name, runs := range reads {
		for _, args := range runs {
			args := append(strings.Fields(name), args...)
			t.Run(strings.ReplaceAll(strings.Join(args, " "), manifest, "FILE"), func(t *testing.T) {
				t.Parallel()
				p, out, errs := process(t, args...)
				in, err := p.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
				// More than a pipe holds: once it is written, usher reads.
				if _, err := io.WriteString(in, strings.Repeat("#\n", 200_000)); err != nil {
					t.Fatal(err)
				}
				interrupt(t, p, out, errs)
			})
		}
	}
	for name, runs := range asks {
		for _, args := range runs {
			args := append(strings.Fields(name), args...)
			t.Run(strings.ReplaceAll(strings.Join(args, " "), manifest, "FILE"), func(t *testing.T) {
				t.Parallel()
				kubeconfig, requested := silentCluster(t)
				p, out, errs := process(t, append(args, "--kubeconfig", kubeconfig)...)
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
				<-requested
				interrupt(t, p, out, errs)
			})
		}
	}
	for name, runs := range connects {
		for _, args := range runs {
			args := append(strings.Fields(name), args...)
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = listener.Close() })
				p, out, errs := process(t, append(args, listener.Addr().String(), "--command-timeout=1h")...)
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second connection is that of a call, which has no answer
					connection, err := listener.Accept()
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = connection.Close() })
				}
				interrupt(t, p, out, errs)
			})
		}
	}
}
