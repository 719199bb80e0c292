package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// offline runs check and inject over folders of manifests.
func offline(ctx context.Context, program, folder string) (section, error) {
	t := table{head: []string{"command", "manifests", "files/s", "files a CPU second", "peak MiB", "first result after s", "in all s"}}
	for _, size := range []struct{ n, rounds int }{{5000, 3}, {50000, 1}} {
		n := size.n
		manifests, err := writeManifests(folder, n)
		if err != nil {
			return section{}, err
		}
		for _, args := range [][]string{{"check"}, {"inject", "-t", "deploy/templates/envoy.yaml", "-f"}} {
			runs := make([]execution, size.rounds)
			for i := range runs {
				if runs[i], err = execute(ctx, program, append(args, manifests)...); err != nil {
					return section{}, err
				}
			}
			of := func(value func(execution) float64) float64 {
				var values []float64
				for _, r := range runs {
					values = append(values, value(r))
				}
				return median(values)
			}
			t.add("`usher "+args[0]+"`", fmt.Sprint(n), two(of(func(e execution) float64 { return float64(n) / e.took.Seconds() })),
				two(of(func(e execution) float64 { return float64(n) / e.cpu.Seconds() })), two(of(func(e execution) float64 { return e.peak })),
				two(of(func(e execution) float64 { return e.first.Seconds() })), two(of(func(e execution) float64 { return e.took.Seconds() })))
		}
		if err := os.RemoveAll(manifests); err != nil {
			return section{}, err
		}
	}
	return section{text: t.String()}, nil
}

// writeManifests writes small manifests of several kinds, a hundred to a folder:
// most ask for Envoy, one of a hundred has a finding.
func writeManifests(folder string, n int) (string, error) {
	root := filepath.Join(folder, fmt.Sprintf("manifests-%d", n))
	for i := range n {
		within := filepath.Join(root, fmt.Sprintf("team-%d", i/100))
		if err := os.MkdirAll(within, 0o755); err != nil {
			return "", err
		}
		replicas := 2
		if i%100 == 0 {
			replicas = -1
		}
		text := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d
  namespace: team-%[2]d
  labels: {app: app-%[1]d}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: app-%[1]d}}
  template:
    metadata:
      labels: {app: app-%[1]d}
      annotations: {initializer.kubernetes.io/envoy: "true"}
    spec:
      containers:
      - name: app
        image: registry.example/app:1.0
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: 8080}}
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 128Mi}}
`, i, i/100, replicas)
		if err := os.WriteFile(filepath.Join(within, fmt.Sprintf("app-%d.yaml", i)), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return root, nil
}

// An execution is one run of a command to its end.
type execution struct {
	took, first, cpu time.Duration
	peak             float64 // MiB
}

// execute runs a command; findings, with exit status 1, are not an error.
func execute(ctx context.Context, program string, args ...string) (execution, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return execution{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return execution{}, err
	}
	var e execution
	if _, err := stdout.Read(make([]byte, 1)); err == nil {
		e.first = time.Since(began)
	}
	_, _ = io.Copy(io.Discard, stdout)
	var ended *exec.ExitError
	if err := cmd.Wait(); err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
		return execution{}, fmt.Errorf("%v: %w\n%.500s", args, err, stderr.Bytes())
	}
	e.took = time.Since(began)
	e.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	e.peak = float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024 // KiB on Linux
	return e, nil
}
