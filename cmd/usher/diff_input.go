package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/usher-dev/usher/cli/manifest"
)

// A diffInput is one side of a comparison.
type diffInput struct {
	docs []*manifest.Document
	// unread is what could not be read. Every object that the side lacks may be
	// there.
	unread []error
}

// read reads the manifests of one side, without the files of folders that are
// manifests only after a tool has rendered them.
func (o *diffOptions) read(ctx context.Context, s streams, paths []string) diffInput {
	files, unread := manifest.Files(paths)
	files, bundles := manifest.Unbundled(files, paths)
	for _, b := range bundles {
		fmt.Fprintf(s.err, "%s is skipped until it is rendered: %s\n", b.Folder, b.Render)
	}
	docs, more := read(ctx, files, s.in)
	in := diffInput{docs, append(unread, more...)}
	for _, d := range docs {
		if err := headless(d); err != nil {
			in.unread = append(in.unread, err)
		}
	}
	if len(in.unread) == 0 && !o.allowEmpty {
		if len(docs) == 0 {
			in.unread = append(in.unread, withoutObjects(paths))
		} else if empty := emptyFiles(paths, docs); len(empty) > 0 {
			in.unread = append(in.unread, withoutObjects(empty))
		}
	}
	return in
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

// emptyFiles returns the files among the named paths that contain no document:
// the command that should have written one may have failed.
func emptyFiles(paths []string, docs []*manifest.Document) (empty []string) {
	for _, path := range paths {
		from := func(d *manifest.Document) bool { return d.File == path }
		if !isFolder(path) && !slices.ContainsFunc(docs, from) {
			empty = append(empty, path)
		}
	}
	return empty
}
