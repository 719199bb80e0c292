// Package check judges the objects in files: it reads each file once, in
// parallel, and then judges each object with all others visible.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// A Run is a check of some files.
type Run struct {
	// Options are what verdicts depend on in addition to the files.
	Options files.Options
	// Report and FailOn, if set, are the levels to report and to fail on, for
	// every finding and every namespace.
	Report, FailOn *finding.Level
	// Skips reports whether to skip a file below a folder; nil skips none.
	Skips func(file string) bool
	// Only and Exclude select among the findings by the ids of rules and of other
	// findings.
	Only, Exclude []string
	// Templates are the files and folders with templates to inject, Definitions
	// those with CustomResourceDefinitions.
	Templates, Definitions []string
	// UnknownKinds decides about objects of unknown kinds.
	UnknownKinds UnknownKinds
	// Excerpts adds to the findings the lines of the files around them.
	Excerpts bool
	// Progress, if set, is called with the number of files read.
	Progress func(done, all int)
}

// file is the content of one file.
type file struct {
	docs []*manifest.Document
	// template is true if the file was given as a template: nothing else in it is
	// judged.
	template bool
	errs     []error

	judged   int
	skipped  []report.Skipped
	findings []report.Finding
	missing  missing
	partial  int // objects that usher did not compare with all others
	notes    []string
}

// missing counts the objects that ask for templates and Networks although none
// was given, so that nothing is known about them.
type missing struct{ templates, networks int }

// Files judges the objects in files and folders. The findings are ordered by
// file and line, however many processors there are. The errors are about
// unreadable input.
func (r *Run) Files(ctx context.Context, paths []string, stdin io.Reader) (*report.Result, []error) {
	names, errs := manifest.Files(paths)
	templates, more := manifest.Files(r.Templates)
	errs = append(errs, more...)
	names, bundles := r.wanted(names, paths)
	definitions, more := manifest.Read(r.Definitions, stdin)
	errs = append(errs, more...)
	own := len(names)
	names = append(names, without(templates, names)...)

	read := make([]file, len(names))
	var done atomic.Int64
	parallel(ctx, len(names), func(i int) {
		read[i] = readFile(names[i], stdin, i < own && slices.Contains(paths, names[i]))
		read[i].template = i >= own
		if r.Progress != nil {
			r.Progress(int(done.Add(1)), len(names))
		}
	})
	var docs, given []*manifest.Document
	for i := range read {
		if read[i].template {
			given = append(given, read[i].docs...)
		} else {
			docs = append(docs, read[i].docs...)
		}
	}
	options := r.Options
	options.Definitions = definitions
	workspace, more := files.Load(docs, given, options)
	errs = append(errs, more...)
	j := &judging{Run: r, workspace: workspace, catalog: map[string]ruledocs.Entry{}}
	for _, e := range ruledocs.Entries() {
		j.catalog[e.ID] = e
	}
	parallel(ctx, len(read), func(i int) { j.file(&read[i]) })
	result, errs := j.result(ctx, read, errs)
	result.NotEvaluated = files.NotEvaluated(docs)
	for _, b := range bundles {
		result.Notes = append(result.Notes, b.String())
	}
	return result, errs
}

// wanted returns the files to judge among those found below the paths.
func (r *Run) wanted(files, paths []string) ([]string, []manifest.Bundle) {
	if r.Skips != nil {
		files = slices.DeleteFunc(files, func(file string) bool { return r.Skips(file) && !slices.Contains(paths, file) })
	}
	return manifest.Unbundled(files, paths)
}

// readFile reads a file. named is true if the user named the file itself.
func readFile(path string, stdin io.Reader, named bool) file {
	docs, errs := manifest.ReadTolerant(path, stdin)
	f := file{docs: docs, errs: errs}
	if named && len(docs) > 0 && len(errs) == 0 && !slices.ContainsFunc(docs, (*manifest.Document).IsObject) {
		f.errs = append(f.errs, &manifest.Error{File: path, Err: errors.New("is not a Kubernetes object: write apiVersion and kind")})
	}
	return f
}

// file judges everything in a file.
func (j *judging) file(f *file) {
	for _, d := range f.docs {
		switch {
		case !d.IsObject():
			f.skipped = append(f.skipped, report.Skipped{Reason: "not a Kubernetes object", Count: 1})
			continue
		case files.ForTools(d):
			continue
		case f.template && !j.workspace.IsTemplate(d):
			continue // already an error of Load
		case !j.workspace.Judges(d):
			j.unknown(f, d)
			continue
		}
		f.judged++
		v, err := j.workspace.Judge(d, nil)
		j.workspace.Judged(d)
		if err != nil {
			f.errs = append(f.errs, err)
			continue
		}
		if kinds.Find(d.APIVersion, d.Kind).Is(kinds.Pods) {
			for _, found := range explain.WrongKeys(d, v, j.workspace.Templates.Names()) {
				f.notes = append(f.notes, fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d, found))
			}
		}
		for _, twice := range d.Duplicates {
			j.add(f, d, v, duplicate(twice))
			if twice.Line > 0 && len(f.findings) > 0 {
				last := &f.findings[len(f.findings)-1]
				last.Line, last.Column = twice.Line, 1
				j.excerpt(d, last)
			}
		}
		for _, found := range v.Findings {
			j.add(f, d, v, found)
		}
		if files.Partial(v) {
			f.partial++
		}
	}
	f.sort()
}

// result joins the findings of all files.
func (j *judging) result(ctx context.Context, read []file, errs []error) (*report.Result, []error) {
	result := &report.Result{Findings: []report.Finding{}, Skipped: []report.Skipped{}}
	var missing missing
	partial := 0
	for i := range read {
		f := &read[i]
		errs = append(errs, f.errs...)
		result.Findings = append(result.Findings, f.findings...)
		result.Skipped = append(result.Skipped, f.skipped...)
		result.Summary.Documents += len(f.docs)
		result.Summary.Judged += f.judged
		missing.templates += f.missing.templates
		missing.networks += f.missing.networks
		partial += f.partial
	}
	result.Findings = togetherOnce(result.Findings)
	for _, f := range result.Findings {
		result.Summary.Add(f)
	}
	result.Skipped = addUp(result.Skipped)
	result.Notes = j.workspace.Notes
	for i := range read {
		result.Notes = append(result.Notes, read[i].notes...)
	}
	if left := j.workspace.Unjudged(); left != "" {
		result.Notes = append(result.Notes, left)
	}
	if n := missing.templates; n > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("objects that ask for templates, although -t was not given: %d; they are checked as written", n))
	}
	if n := missing.networks; n > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("objects that declare Networks, although the files contain none of their namespace: %d; they are checked as written", n))
	}
	if partial > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("objects whose selectors usher compared with only %d of the workloads that they may select: %d", policies.MaxCompared, partial))
	}
	if ctx.Err() != nil {
		errs = append(errs, fmt.Errorf("stopped: %w", context.Cause(ctx)))
	}
	for _, err := range errs {
		result.Errors = append(result.Errors, err.Error())
	}
	result.Summary.Files, result.Summary.Errors = len(read), len(errs)
	return result, errs
}

// togetherOnce keeps only the last finding about several templates together: each
// of them has it.
func togetherOnce(findings []report.Finding) []report.Finding {
	together := func(f report.Finding) bool {
		return f.Rule == ruledocs.TemplateConflict || f.Rule == ruledocs.MatchEndsItself
	}
	last := map[string]int{}
	for i, f := range findings {
		if together(f) {
			last[f.Message] = i
		}
	}
	kept := findings[:0]
	for i, f := range findings {
		if !together(f) || last[f.Message] == i {
			kept = append(kept, f)
		}
	}
	return kept
}

// without removes from paths the files that are among others, however they are
// written.
func without(paths, others []string) []string {
	seen := map[string]bool{}
	for _, path := range others {
		seen[absolute(path)] = true
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		key := absolute(path)
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

func absolute(path string) string {
	if path == manifest.Stdin {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// parallel calls do for 0 to n-1 on all processors, until the context ends.
func parallel(ctx context.Context, n int, do func(int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	wait.Wait()
}
