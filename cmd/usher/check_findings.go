package main

import (
	"io"
	"slices"

	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// findings are the results of check. If standard output has a line for each finding,
// the lines are written at once; other outputs are written at the end.
type findings struct {
	s      streams
	format string // of the lines; "" for none
	keeps  bool   // for other outputs
	kept   []report.Finding
	n      int
	fails  bool // true if a finding fails the check
	// unwritten is why lines could not be written.
	unwritten error
}

func newFindings(s streams, o cli.Outputs) *findings {
	f := &findings{s: s, keeps: true}
	if report.Lines(o.Stdout) {
		f.format, f.keeps = o.Stdout, len(o.Files) > 0
	}
	return f
}

// add adds the findings of a file. The error ends the check.
func (f *findings) add(found []report.Finding) error {
	f.n += len(found)
	f.fails = f.fails || slices.ContainsFunc(found, func(f report.Finding) bool { return f.Fails })
	if f.format != "" && f.unwritten == nil {
		f.unwritten = report.WriteLines(f.s.out, f.format, found, colourful(f.s))
	}
	if f.keeps {
		f.kept = append(f.kept, found...)
		return nil
	}
	return f.unwritten
}

// end writes an output that is not written yet.
func (f *findings) end(w io.Writer, format string, r *report.Result) error {
	if w == f.s.out && f.format != "" {
		return f.unwritten
	}
	return report.Write(w, format, r, w == f.s.out && colourful(f.s))
}
