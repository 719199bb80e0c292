package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/finding"
)

func TestFindings_WithALineEach_AreWrittenAtOnce(t *testing.T) {
	one := []report.Finding{{File: "a.yaml", Line: 1, Column: 2, Finding: finding.Finding{Rule: "r", Message: "m"}}}
	for format, lines := range map[string]bool{"text": true, "github": true, "json": false, "sarif": false, "html": false} {
		var out bytes.Buffer
		f := newFindings(streams{out: &out}, cli.Outputs{Stdout: format})
		if err := f.add(one); err != nil || strings.HasSuffix(out.String(), "\n") != lines || (len(f.kept) == 0) != lines {
			t.Errorf("%s: %v, wrote %q, keeps %d findings", format, err, out.String(), len(f.kept))
		}
	}
}

func TestCheck_WritesLinesAndFiles(t *testing.T) {
	folder(t, map[string]string{"a.yaml": brokenJob, "b.yaml": brokenJob})
	status, out, errs := command("", "check", "-o", "text", "-o", "json=report.json", ".")
	if lines := strings.Count(out, "\n"); status != cli.Failed || lines != 2 {
		t.Errorf("status %d, %d lines\n%s%s", status, lines, out, errs)
	}
	text, err := os.ReadFile("report.json")
	var got report.Result
	if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil || len(got.Findings) != 2 || got.Summary.Invariant != 2 {
		t.Errorf("%v, result %s", err, text)
	}
}

// Without a reader, usher ends as other programs do, before it has judged all.
func TestCheck_WithoutAReader_EndsQuietly(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("%03d.yaml", i)] = brokenJob
	}
	folder(t, files)
	paths, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	p, _, errs := process(t, "check", paths)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	p.Stdout = writer
	err = p.Run()
	ended, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || err == nil || ended.Signal() != syscall.SIGPIPE || errs.String() != "" {
		t.Errorf("%v, stderr %q", err, errs)
	}
	if err := writer.Close(); err != nil {
		t.Error(err)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestCheck_WithAFullDisk_SaysSo(t *testing.T) {
	folder(t, map[string]string{"a.yaml": brokenJob, "b.yaml": brokenJob})
	for _, args := range [][]string{{"."}, {"-o", "json", "."}, {"-o", "text", "-o", "json=report.json", "."}} {
		var errs bytes.Buffer
		status := run(t.Context(), slices.Concat([]string{"check"}, args), streams{strings.NewReader(""), full{}, &errs})
		const want = "Error: writing the results: no space left on device\n"
		if status != cli.Usage || !strings.HasSuffix(errs.String(), want) {
			t.Errorf("%v: status %d, stderr %q", args, status, errs.String())
		}
	}
	if _, err := os.Stat("report.json"); err != nil {
		t.Errorf("the report in a file: %v", err)
	}
}
