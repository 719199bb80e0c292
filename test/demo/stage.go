package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/test/controlplane"
)

// A stage is the control plane and the webhook server of one demo.
type stage struct {
	began   time.Time
	plane   *controlplane.ControlPlane
	dir     string
	kubectl string
	health  string
	metrics string
	usher   *exec.Cmd
	log     bytes.Buffer
}

func newStage(ctx context.Context) (*stage, error) {
	dir, err := os.MkdirTemp("", "usher-demo-")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, began: time.Now()}
	if err := s.start(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stage) start(ctx context.Context) error {
	s.say("Building usher")
	binary := filepath.Join(s.dir, "usher-webhook")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/usher-webhook")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building usher: %w", err)
	}
	if err := s.choosePrograms(ctx); err != nil {
		return err
	}
	s.say("Starting etcd and kube-apiserver")
	var err error
	if s.plane, err = controlplane.Start(os.Stderr); err != nil {
		return err
	}
	version, err := s.plane.ServerVersion()
	if err != nil {
		return err
	}
	s.say("kube-apiserver " + version.String() + " runs")
	s.kubectl = filepath.Join(s.plane.Assets, "kubectl")
	kubeconfig := filepath.Join(s.dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, s.plane.Kubeconfig, 0o600); err != nil {
		return err
	}
	if _, err := s.run(ctx, "", "create", "namespace", "usher-system"); err != nil {
		return err
	}
	addresses := make([]string, 3)
	for i := range addresses {
		if addresses[i], err = controlplane.FreeAddress(); err != nil {
			return err
		}
	}
	s.health, s.metrics = addresses[1], addresses[2]
	s.say("Starting usher-webhook next to it")
	s.usher = exec.Command(binary, "--kubeconfig", kubeconfig, "--bind-address", addresses[0], "--url", "https://"+addresses[0],
		"--health-address", s.health, "--metrics-address", s.metrics, "--log-format", "text")
	s.usher.Stderr = &s.log
	if err := s.usher.Start(); err != nil {
		return fmt.Errorf("starting usher: %w", err)
	}
	return s.wait(ctx, "usher registered itself", func() bool {
		_, err := s.run(ctx, "", "get", "mutatingwebhookconfiguration", "usher")
		return err == nil
	})
}

// close stops what was started and removes what was written.
func (s *stage) close() {
	if s.usher != nil && s.usher.Process != nil {
		_ = s.usher.Process.Signal(os.Interrupt)
		_ = s.usher.Wait()
	}
	if s.plane != nil {
		if err := s.plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "demo: stopping the control plane:", err)
		}
	}
	_ = os.RemoveAll(s.dir)
}

// command is a call of kubectl.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, s.kubectl, append([]string{"--kubeconfig", filepath.Join(s.dir, "kubeconfig")}, args...)...)
}

// read runs kubectl and returns its standard output.
func (s *stage) read(ctx context.Context, args ...string) ([]byte, error) {
	out, err := s.command(ctx, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", args[0], err, exit.Stderr)
	}
	return out, err
}

// run runs kubectl and returns both streams.
func (s *stage) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := s.command(ctx, args...)
	cmd.Stdin = bytes.NewBufferString(stdin)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", fmt.Errorf("running kubectl: %w", err)
	}
	return string(out), err
}

func (s *stage) wait(ctx context.Context, what string, done func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		return fmt.Errorf("waiting until %s: %w\n%s", what, err, s.log.String())
	}
	return nil
}

// decisions returns the metric of injection. The rules check every pod, unless
// its namespace disables them.
func (s *stage) decisions() (string, error) {
	res, err := http.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var body, found bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil {
		return "", err
	}
	for line := range bytes.Lines(body.Bytes()) {
		if bytes.HasPrefix(line, []byte("usher_decisions_total{")) && bytes.Contains(line, []byte(`path="/mutate`)) {
			found.Write(line)
		}
	}
	return found.String(), nil
}
