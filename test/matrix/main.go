// Command matrix runs the tests of usher's features on API servers of several
// versions of Kubernetes, and prints a table.
//
//	go run ./test/matrix -versions "1.30 1.37" -creates 1000 -updates 300
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/cluster/components"
)

//go:embed features.yaml
var features []byte

// A feature is a row of the table.
type feature struct {
	Feature string   `json:"feature"`
	Package string   `json:"package"`
	Tests   []string `json:"tests"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	versions := flag.String("versions", strings.Join(components.Versions(), " "), "minor versions of Kubernetes, separated by spaces")
	creates := flag.String("creates", "10000", "how many objects are generated for each version")
	updates := flag.String("updates", "3000", "how many changes are generated for each version")
	flag.Parse()
	var rows []feature
	if err := yaml.UnmarshalStrict(features, &rows); err != nil {
		return fmt.Errorf("reading features.yaml: %w", err)
	}
	m := matrix{rows: rows, versions: strings.Fields(*versions), args: []string{"-creates", *creates, "-updates", *updates}, results: map[string]string{}}
	if err := m.compile(ctx); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(m.binaries) }()
	for _, version := range m.versions {
		if err := m.test(ctx, version); err != nil {
			return err
		}
	}
	return m.print(os.Stdout)
}

// A matrix is the results of tests by version.
type matrix struct {
	rows     []feature
	versions []string
	args     []string          // of the conformance tests
	binaries string            // the folder of the compiled tests
	results  map[string]string // by version and test
	figures  []string          // agreement, by version
}

const conformance = "./test/conformance"

func (m *matrix) packages() []string {
	var names []string
	for _, r := range m.rows {
		if !slices.Contains(names, r.Package) {
			names = append(names, r.Package)
		}
	}
	return names
}

func (m *matrix) binary(name string) string {
	return filepath.Join(m.binaries, strings.ReplaceAll(strings.TrimPrefix(name, "./"), "/", "-")+".test")
}

// compile compiles the tests of each package once for all versions.
func (m *matrix) compile(ctx context.Context) (err error) {
	if m.binaries, err = os.MkdirTemp("", "usher-matrix-"); err != nil {
		return err
	}
	for _, name := range m.packages() {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-w", "-o", m.binary(name), name)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("compiling the tests of %s: %w", name, err)
		}
	}
	return nil
}

// test runs every test of the table with an API server of a version.
func (m *matrix) test(ctx context.Context, version string) error {
	assets, err := components.Ensure(ctx, os.Stderr, "etcd", "kubectl", "kube-apiserver-"+version, "kube-controller-manager-"+version)
	if err != nil {
		return err
	}
	for _, name := range m.packages() {
		var tests []string
		for _, r := range m.rows {
			if r.Package == name {
				tests = append(tests, r.Tests...)
			}
		}
		args := []string{"-test.v", "-test.timeout=60m", "-test.run=^(" + strings.Join(tests, "|") + ")$"}
		if name == conformance {
			args = append(args, m.args...)
		}
		cmd := exec.CommandContext(ctx, m.binary(name), args...)
		cmd.Dir = filepath.FromSlash(name)
		cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+assets)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		start := time.Now()
		failed := cmd.Run()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Fprintf(os.Stderr, "Kubernetes %s: %s in %s\n", version, name, time.Since(start).Round(time.Second))
		m.read(version, out.Bytes())
		if failed != nil {
			fmt.Fprintf(os.Stderr, "%s\n", out.Bytes())
		}
	}
	return nil
}

var (
	result = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\S+)`)
	figure = regexp.MustCompile(`(?m)seed \d+: .*`)
)

// read collects the results of a test binary.
func (m *matrix) read(version string, out []byte) {
	for _, match := range result.FindAllSubmatch(out, -1) {
		m.results[version+" "+string(match[2])] = string(match[1])
	}
	for _, line := range figure.FindAll(out, -1) {
		m.figures = append(m.figures, "Kubernetes "+version+", "+string(line))
	}
}

// of is the result of a feature: that of its worst test. A test that did not run
// has failed.
func (m *matrix) of(r feature, version string) string {
	for _, test := range r.Tests {
		if m.results[version+" "+test] != "PASS" {
			return "FAIL (" + test + ")"
		}
	}
	return "pass"
}

func (m *matrix) print(w io.Writer) error {
	fmt.Fprintf(w, "| feature | %s |\n|---|%s\n", strings.Join(m.versions, " | "), strings.Repeat("---|", len(m.versions)))
	passed, failed := 0, 0
	for _, r := range m.rows {
		fmt.Fprintf(w, "| %s |", r.Feature)
		for _, version := range m.versions {
			text := m.of(r, version)
			if text == "pass" {
				passed++
			} else {
				failed++
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for _, line := range m.figures {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return errors.New("not every feature works on every version")
	}
	return nil
}
