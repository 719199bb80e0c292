// Package check judges the objects in files: it reads all files, and then judges each
// object with all others visible. It works on all processors, and hands over the
// findings of each file in the order of the files, as soon as the file and those
// before it are judged.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/inorder"
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
	// Found is called with the findings of each file that has some. Its first error
	// ends the check.
	Found func([]report.Finding) error
}

// file is the content of one file.
type file struct {
	docs []*manifest.Document
	// template is true if the file was given as a template: nothing else in it is
	// judged.
	template bool
	errs     []error
}

// Files judges the objects in files and folders. Found gets the findings, ordered by
// file and line, however many processors there are; the result has the rest. The
// errors are about unreadable input, or that of Found.
func (r *Run) Files(ctx context.Context, paths []string, stdin io.Reader) (*report.Result, []error) {
	names, errs := manifest.Files(paths)
	templates, more := manifest.Files(r.Templates)
	errs = append(errs, more...)
	names, bundles := r.wanted(names, paths)
	definitions, more := manifest.Read(r.Definitions, stdin)
	errs = append(errs, more...)
	own, named := len(names), setOf(paths)
	names = append(names, without(templates, names)...)

	read := make([]file, 0, len(names))
	var docs, given []*manifest.Document
	ended := inorder.Do(ctx, len(names), func(i int) file {
		return readFile(names[i], stdin, i < own && named[names[i]])
	}, func(f file) error {
		if f.template = len(read) >= own; f.template {
			given = append(given, f.docs...)
		} else {
			docs = append(docs, f.docs...)
		}
		if read = append(read, f); r.Progress != nil {
			r.Progress(len(read), len(names))
		}
		return nil
	})
	options := r.Options
	options.Definitions = definitions
	workspace, more := files.Load(docs, given, options)
	j := &judging{Run: r, workspace: workspace, catalog: map[string]ruledocs.Entry{}}
	for _, e := range ruledocs.Entries() {
		j.catalog[e.ID] = e
	}
	t := newTotals(append(errs, more...))
	t.result.Summary.Files, t.result.NotEvaluated = len(names), files.NotEvaluated(docs)
	if ended == nil {
		ended = j.all(ctx, read, t)
	}
	if ctx.Err() != nil {
		ended = fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	if ended != nil {
		t.errs = append(t.errs, ended)
	}
	t.end(workspace)
	for _, b := range bundles {
		t.result.Notes = append(t.result.Notes, b.String())
	}
	return t.result, t.errs
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

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, path := range paths {
		set[path] = true
	}
	return set
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
