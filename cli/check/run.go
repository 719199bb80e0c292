// Package check judges the objects in files: it reads all files, and then judges each
// object with all others visible. It works on all processors, and hands over the
// findings of each file in the order of the files, as soon as the file and those
// before it are judged.
package check

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// A Run is a check of some files.
type Run struct {
	// Options are what verdicts depend on in addition to the files.
	Options files.Options
	// Report and FailOn, if set, are the levels to report and to fail on, for
	// every finding and every namespace.
	Report, FailOn *finding.Level
	// Input selects what is read.
	Input input.Options
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
	// Fingerprints adds to the findings what identifies them in later versions of the
	// files.
	Fingerprints bool
	// Notes are about what could not be read before the files.
	Notes []string
	// Known, if set, gets each finding with its fingerprint, and reports whether it was
	// accepted before: then it is counted, and not handed over. asked is false for a
	// finding that is not reported for its level.
	Known func(f report.Finding, asked bool) bool
	// Found is called with the findings of each file that has some. Its first error
	// ends the check.
	Found func([]report.Finding) error
}

// file is the content of a file, or of a rendered unit.
type file struct {
	input.Source
	// template is true if the file was given as a template: nothing else in it is
	// judged.
	template bool
}

// Files judges the objects in files and folders. Found gets the findings, ordered by
// file and line, however many processors there are; the result has the rest. The
// errors are about unreadable input, or that of Found.
func (r *Run) Files(ctx context.Context, paths []string, stdin io.Reader) (*report.Result, []error) {
	definitions, errs := manifest.Read(r.Definitions, stdin)
	in, more := input.Read(ctx, paths, stdin, r.Input)
	errs = append(errs, more...)
	read := make([]file, 0, len(in.Sources))
	for _, s := range in.Sources {
		read = append(read, file{Source: s})
	}
	templates, more := manifest.Files(r.Templates)
	errs = append(errs, more...)
	var given []*manifest.Document
	for _, path := range without(templates, in.Sources) {
		docs, more := manifest.ReadTolerant(path, stdin)
		given = append(given, docs...)
		read = append(read, file{Source: input.Source{Path: path, Docs: docs, Errs: more}, template: true})
	}

	options := r.Options
	options.Definitions = slices.Concat(definitions, in.Definitions)
	j := &judging{Run: r, catalog: map[string]ruledocs.Entry{}}
	more = j.load(read, given, options)
	for _, e := range ruledocs.Entries() {
		j.catalog[e.ID] = e
	}
	t := newTotals(append(errs, more...))
	t.result.Summary.Files, t.result.Summary.Rendered = in.Files+len(read)-len(in.Sources), in.Rendered
	t.result.NotEvaluated, t.result.Unjudged = j.notEvaluated(read), in.Unjudged
	ended := j.all(ctx, read, t)
	if ctx.Err() != nil {
		ended = fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	if ended != nil {
		t.errs = append(t.errs, ended)
	}
	t.end(j.workspaces, slices.Concat(r.Notes, in.Notes))
	return t.result, t.errs
}

// load loads the facts: first those that are for all objects, and then, for each folder
// with tests, those that are for its own.
func (j *judging) load(read []file, given []*manifest.Document, o files.Options) (errs []error) {
	zones := map[string][]*manifest.Document{"": nil}
	for _, f := range read {
		if f.template {
			continue
		}
		for _, d := range slices.Concat(f.Docs, f.Context) {
			zones[d.Zone] = append(zones[d.Zone], d)
		}
	}
	j.workspaces = map[string]*files.Workspace{}
	for _, zone := range slices.Sorted(maps.Keys(zones)) { // "" is the first
		if zone != "" {
			given, o.Definitions = nil, nil
			if o.Validator != nil {
				o.Validator = j.workspaces[""].Within()
			}
		}
		workspace, more := files.Load(zones[zone], given, o)
		j.workspaces[zone] = workspace
		errs = append(errs, more...)
	}
	return errs
}

// notEvaluated are the objects that decide about others, and that usher does not
// evaluate.
func (j *judging) notEvaluated(read []file) []files.Unevaluated {
	var docs []*manifest.Document
	for _, f := range read {
		for _, d := range f.Docs {
			if !f.template && !j.in(d).Evaluates(d) {
				docs = append(docs, d)
			}
		}
	}
	return files.NotEvaluated(docs)
}

// without removes from paths the files that are among the sources, however they are
// written.
func without(paths []string, sources []input.Source) []string {
	seen := map[string]bool{}
	for _, s := range sources {
		seen[absolute(s.Path)] = true
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
