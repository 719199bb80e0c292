package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
)

// A server finds something in each object, once judge has returned.
type server struct{ judge func(name string) }

func (s server) Validate(o verdict.Object, _ *verdict.Object, _ *verdict.Facts) []finding.Finding {
	s.judge(o.Name)
	return []finding.Finding{{Rule: "test", Level: finding.Invariant, RefusedByServer: true, Field: "data", Message: "found in " + o.Name}}
}
func (server) Admit(context.Context, *verdict.Object, *verdict.Object, bool, *verdict.Facts) []finding.Finding {
	return nil
}
func (server) Enforce([]admission.Manifest) map[int]string    { return nil }
func (server) Enforces(string) bool                           { return false }
func (server) Unadmitted() admission.Left                     { return nil }
func (server) Complete(verdict.Object) bool                   { return true }
func (server) Define([]byte) ([]finding.Finding, bool, error) { return nil, false, nil }
func (s server) Within() files.Validator                      { return s }
func (server) Knows(string, string) bool                      { return true }
func (server) Note() string                                   { return "" }
func (server) Unjudged() string                               { return "" }

// run is a check of n files in the current folder with a ConfigMap each, by a server.
func run(t *testing.T, n int, judge func(name string)) *Run {
	t.Helper()
	t.Chdir(t.TempDir())
	for i := range n {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%05d}\ndata: {}\n", i)
		if err := os.WriteFile(fmt.Sprintf("%05d.yaml", i), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &Run{Options: files.Options{
		Steps: verdict.All, Configuration: config.Default(), Namespace: "default", OwnNamespace: "usher-system", Validator: server{judge},
	}}
}

func TestFiles_HandsOverAFileBeforeTheLastIsJudged(t *testing.T) {
	const n = 100
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("nothing was found before the last file was judged"))
	defer cancel()
	first := make(chan struct{})
	r := run(t, n, func(name string) {
		if name == fmt.Sprintf("c%05d", n-1) {
			select {
			case <-first:
			case <-ctx.Done():
			}
		}
	})
	var got, want []string
	for i := range n {
		want = append(want, fmt.Sprintf("%05d.yaml:4: found in c%05d", i, i))
	}
	r.Found = func(found []report.Finding) error {
		for _, f := range found {
			if got = append(got, fmt.Sprintf("%s:%d: %s", f.File, f.Line, strings.TrimPrefix(f.Message, "data: "))); len(got) == 1 {
				close(first)
			}
		}
		return nil
	}
	result, errs := r.Files(ctx, []string{"."}, nil)
	if diff := cmp.Diff(want, got); diff != "" || len(errs) > 0 {
		t.Errorf("%v, findings (-want +got):\n%s", errs, diff)
	}
	if s := result.Summary; s.Files != n || s.Judged != n || s.Documents != n || s.Invariant != n {
		t.Errorf("summary %+v", s)
	}
}

// A reader that takes its time holds the other files back.
func TestFiles_JudgesOnlyAFewFilesAhead(t *testing.T) {
	const n = 2000
	var judged atomic.Int64
	r := run(t, n, func(string) { judged.Add(1) })
	full := errors.New("full")
	r.Found = func([]report.Finding) error { return full }
	_, errs := r.Files(t.Context(), []string{"."}, nil)
	if len(errs) != 1 || !errors.Is(errs[0], full) || judged.Load() == n {
		t.Errorf("%v after %d files", errs, judged.Load())
	}
}

func TestFiles_FileThatCannotBeRead_LeavesTheOthers(t *testing.T) {
	r := run(t, 3, func(string) {})
	if err := os.WriteFile("00001.yaml", []byte("apiVersion: v1\nkind: A\n\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	r.Found = func(found []report.Finding) error { got = append(got, filepath.Base(found[0].File)); return nil }
	result, errs := r.Files(t.Context(), []string{"."}, nil)
	if diff := cmp.Diff([]string{"00000.yaml", "00002.yaml"}, got); diff != "" {
		t.Errorf("files with findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"00001.yaml: a binary file, neither YAML nor JSON"}, result.Errors); diff != "" || len(errs) != 1 || result.Summary.Errors != 1 {
		t.Errorf("%v, errors of the result (-want +got):\n%s", errs, diff)
	}
}
