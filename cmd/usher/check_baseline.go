package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cli/baseline"
	"github.com/usher-dev/usher/cli/check"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// baselineFlags are the files with known findings.
type baselineFlags struct {
	read, write string
	known       *baseline.Baseline // nil without either
}

func (f *baselineFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.read, "baseline", "", "file with known findings, which are counted and not reported")
	cmd.Flags().StringVar(&f.write, "write-baseline", "", "write all findings to this file, for --baseline, and report none")
}

// prepare makes a check use the baseline.
func (f *baselineFlags) prepare(run *check.Run) (err error) {
	switch {
	case f.read != "" && f.write != "":
		return errors.New("--baseline and --write-baseline exclude each other: to write the file again, pass only --write-baseline")
	case f.read != "":
		if f.known, err = baseline.Load(f.read); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
		run.Known = func(found report.Finding, _ bool) bool { return found.Exempt == "" && f.known.Take(found) }
	case f.write != "":
		if f.known, err = baseline.New(f.write); err != nil {
			return fmt.Errorf("--write-baseline: %w", err)
		}
		run.Known = func(found report.Finding, asked bool) bool {
			if !asked || found.Exempt != "" {
				return false
			}
			f.known.Add(found)
			return true
		}
	}
	run.Fingerprints = run.Fingerprints || f.known != nil
	return nil
}

// end writes the baseline, or says what became of it.
func (f *baselineFlags) end(s streams, run *check.Run, r *report.Result, paths []string, complete bool) error {
	switch {
	case f.write != "" && !complete:
		return fmt.Errorf("%s is not written, because the input cannot be read completely: correct it first", f.write)
	case f.write != "":
		if err := cli.ReplaceFile(f.write, f.known.Write); err != nil {
			return fmt.Errorf("writing the baseline: %w", err)
		}
		fmt.Fprintf(s.err, "%d findings written to %s\n", f.known.Len(), f.write)
	case f.read != "":
		fmt.Fprintf(s.err, "%d known from %s\n", r.Summary.Known, f.read)
		if !complete {
			return nil // more of its entries may occur
		}
		if n := f.left(run, r, paths); n == 1 {
			fmt.Fprintf(s.err, "1 entry of %s no longer occurs: remove it, or write the file again with --write-baseline %s\n", f.read, f.read)
		} else if n > 1 {
			fmt.Fprintf(s.err, "%d entries of %s no longer occur: remove them, or write the file again with --write-baseline %s\n", n, f.read, f.read)
		}
	}
	return nil
}

// left counts the entries that the check would have found if they still occurred.
func (f *baselineFlags) left(run *check.Run, r *report.Result, paths []string) int {
	unread := map[string]bool{}
	for _, unit := range r.Unjudged {
		if unit.Command != "" { // its findings may be in files anywhere
			return 0
		}
		if abs, err := filepath.Abs(unit.Path); err == nil {
			unread[abs] = true
		}
	}
	return f.known.Left(func(file, rule string) bool {
		return run.Selects(rule) && !unread[file] && slices.ContainsFunc(paths, func(path string) bool { return covers(path, file) })
	})
}

// covers reports whether a file is the one at a path, or in the folder there.
func covers(path, file string) bool {
	if path == manifest.Stdin || file == manifest.Stdin {
		return path == file
	}
	abs, err := filepath.Abs(path)
	return err == nil && (abs == file || strings.HasPrefix(file, strings.TrimSuffix(abs, string(filepath.Separator))+string(filepath.Separator)))
}
