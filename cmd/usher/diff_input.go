package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/render"
)

// A diffInput is one side of a comparison.
type diffInput struct {
	docs []*manifest.Document
	// unread is what could not be read. Every object that the side lacks may be
	// there.
	unread []error
	// unjudged are the units that could not be rendered, by their path below the side's
	// folder.
	unjudged map[string]input.Unjudged
	// with are the files and units that have objects, and other what does not parse and
	// does not claim to be objects, by the same paths.
	with  map[string]bool
	other map[string]error
}

// read reads the manifests of one side, and renders its charts and kustomizations.
func (o *diffOptions) read(ctx context.Context, s streams, paths []string) diffInput {
	c, folder, err := located(o.config)
	if err != nil {
		return diffInput{unread: []error{err}}
	}
	charts, err := chartValues(c, folder)
	if err != nil {
		return diffInput{unread: []error{err}}
	}
	// Folders of a comparison may be copies of that with the configuration.
	for chart, values := range maps.Clone(charts) {
		for _, path := range paths {
			to, errTo := filepath.Abs(path)
			from, errFrom := filepath.Abs(folder)
			rel, err := filepath.Rel(from, chart)
			if copied := filepath.Join(to, rel); errors.Join(errTo, errFrom, err) == nil && isFolder(copied) {
				charts[copied] = values
			}
		}
	}
	renderer := &render.Renderer{}
	defer renderer.Close()
	found, unread := input.Read(ctx, paths, s.in, input.Options{Renderer: renderer, Namespace: cmp.Or(o.connection.Given(), "default"), Charts: charts})
	in := diffInput{unread: unread, unjudged: map[string]input.Unjudged{}, with: map[string]bool{}, other: map[string]error{}}
	for _, note := range found.Notes {
		fmt.Fprintln(s.err, note)
	}
	for _, u := range found.Unjudged {
		in.unjudged[below(paths, u.Path)] = u
	}
	for _, source := range found.Sources {
		in.unread = append(in.unread, source.Errs...)
		in.with[below(paths, source.Path)] = len(source.Docs) > 0
		if len(source.Other) > 0 {
			in.other[below(paths, source.Path)] = source.Other[0]
		}
		for _, d := range source.Docs {
			for _, twice := range d.Duplicates {
				in.unread = append(in.unread, &manifest.Error{File: d.File, Line: max(twice.Line, d.Line), Err: fmt.Errorf("%s is set twice: remove one", twice.Field)})
			}
			if err := headless(d); err != nil {
				in.unread = append(in.unread, err)
			}
			d.Unit = below(paths, d.Unit)
			in.docs = append(in.docs, d)
		}
	}
	if len(in.unread) == 0 && len(in.unjudged) == 0 && !o.allowEmpty {
		if len(in.docs) == 0 {
			in.unread = append(in.unread, withoutObjects(paths))
		}
		for _, source := range found.Sources { // the command that should have written it may have failed
			if source.Named && len(source.Docs) == 0 && len(in.docs) > 0 {
				in.unread = append(in.unread, withoutObjects([]string{source.Path}))
			}
		}
	}
	return in
}

// below is a path relative to the folder among paths that contains it, so that it is
// the same on both sides of a comparison.
func below(paths []string, path string) string {
	for _, folder := range paths {
		if rel, err := filepath.Rel(folder, path); err == nil && isFolder(folder) && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// onOneSide returns an error for each unit that only one of two sides could render, and
// for each file that only one could parse: its objects would be created or deleted.
func onOneSide(side, other diffInput) (unread []error) {
	for _, path := range slices.Sorted(maps.Keys(side.unjudged)) {
		if _, both := other.unjudged[path]; !both {
			u := side.unjudged[path]
			unread = append(unread, fmt.Errorf("the %s %s cannot be rendered: %s", u.Kind, u.Path, u.Reason))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(side.other)) {
		if other.with[path] {
			unread = append(unread, side.other[path])
		}
	}
	return unread
}

// headless reports a document that was meant to be an object, but does not say
// which: kubectl refuses it, and it is not known which object it changes.
func headless(d *manifest.Document) error {
	var err error
	switch {
	case d.IsObject() && d.APIVersion == "v1" && d.Kind == "List":
		err = errors.New("the List has no list of items: write its objects under items")
	case d.IsObject() || d.Name == "" && !d.InList():
		return nil
	case d.Name == "":
		err = errors.New("an item of the List is not a Kubernetes object: write apiVersion, kind and metadata.name")
	case d.Kind == "":
		err = fmt.Errorf("%q has no kind: write apiVersion and kind", d.Name)
	default:
		err = fmt.Errorf("%s %q has no apiVersion: write it", d.Kind, d.Name)
	}
	return &manifest.Error{File: d.File, Line: d.Line, Err: err}
}
