// Package input reads the objects in paths: those in files, and those of the charts
// and kustomizations among them, which it renders.
package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/inorder"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/render"
	"github.com/usher-dev/usher/cli/units"
)

// Options select what is read.
type Options struct {
	// Skips reports whether to skip a file below a folder; nil skips none.
	Skips func(file string) bool
	// AsFound treats the files that the user named like those below a folder.
	AsFound bool
	// Renderer renders the units.
	Renderer *render.Renderer
	// Namespace is the one that charts are installed in, KubernetesVersion the server's
	// version, such as v1.36.0, "" for Helm's default.
	Namespace, KubernetesVersion string
	// Charts are the values of charts, by folder.
	Charts Charts
	// Given, if set, are the values of the only chart.
	Given *Values
	// Progress, if set, is called with the number of files and units read.
	Progress func(done, all int)
}

// A Source is the content of a file, or of a unit.
type Source struct {
	// Path is the file, or the folder of the unit.
	Path string
	// Named is true if the user named the file itself.
	Named bool
	// NearKustomization is true if a kustomization next to the file does not use it: it may be a
	// patch.
	NearKustomization bool
	// Docs are its objects. Context are objects of the same unit, for their sake: the
	// user named only a part of the unit.
	Docs, Context []*manifest.Document
	// Errs are about input that claims to be objects and cannot be read.
	Errs []error
	// Other are errors about texts that do not claim to be objects.
	Other []error
}

// An Unjudged part of the input contains manifests only once a tool has rendered or
// applied it, and usher cannot.
type Unjudged struct {
	// Kind is chart, kustomization, template or patch; Path is its folder or file.
	Kind string `json:"kind"`
	Path string `json:"path"`
	// Reason says why, and Command what renders it, if there is one command.
	Reason  string `json:"reason"`
	Command string `json:"command,omitempty"`
}

// An Input is what the paths contain.
type Input struct {
	// Sources are in the order of their paths.
	Sources []Source
	// Files and Rendered count the files that were read, and the units.
	Files, Rendered int
	// Definitions are the CustomResourceDefinitions of units that cannot be rendered.
	Definitions []*manifest.Document
	Unjudged    []Unjudged
	Notes       []string
}

// Read reads the paths: files, folders and standard input. The errors are about paths
// that cannot be read; what is in the files is in the sources.
func Read(ctx context.Context, paths []string, stdin io.Reader, o Options) (*Input, []error) {
	if o.AsFound && o.Skips != nil {
		paths = slices.DeleteFunc(slices.Clone(paths), o.Skips)
	}
	tree, errs := units.Find(paths, o.Skips)
	named := slices.DeleteFunc(slices.Clone(tree.Files), func(f units.File) bool { return !f.Named })
	for i := range tree.Files {
		tree.Files[i].Named = tree.Files[i].Named && !o.AsFound
	}
	in := &Input{Files: len(tree.Files)}
	requests, err := o.requests(tree.Units)
	if err != nil {
		return in, append(errs, err)
	}
	all := len(tree.Files) + len(requests)
	read := func(s Source) {
		in.Sources = append(in.Sources, s)
		if o.Progress != nil {
			o.Progress(len(in.Sources), all)
		}
	}
	partial := map[string]bool{} // by unit
	err = inorder.Do(ctx, len(tree.Files), func(i int) fileContent { return readFile(tree.Files[i], stdin) }, func(c fileContent) error {
		in.Unjudged = append(in.Unjudged, c.templates...)
		partial[c.unit] = partial[c.unit] || c.partial()
		read(c.Source)
		return nil
	})
	if err != nil {
		return in, append(errs, err)
	}
	served := versions(in.Sources)
	err = inorder.Do(ctx, len(requests), func(i int) rendered { return o.render(ctx, requests[i], served) }, func(r rendered) error {
		in.Notes = append(in.Notes, r.notes...)
		in.Unjudged = append(in.Unjudged, r.unjudged...)
		in.Definitions = append(in.Definitions, r.definitions...)
		in.Rendered++
		partial[r.unit] = partial[r.unit] || r.partial || len(r.unjudged) > 0
		read(r.Source)
		return nil
	})
	if err != nil {
		return in, append(errs, err)
	}
	in.markPartial(named, partial)
	slices.SortStableFunc(in.Sources, func(a, b Source) int { return cmp.Compare(a.Path, b.Path) })
	if tree.Hidden > 0 {
		in.Notes = append(in.Notes, fmt.Sprintf("files in hidden folders or with hidden names, which usher reads only when they are named: %d", tree.Hidden))
	}
	return in, errs
}

// fileContent is what came of a file.
type fileContent struct {
	Source
	unit      string
	templates []Unjudged
}

// partial reports whether the file has, or changes, objects that were not read.
func (c *fileContent) partial() bool {
	return len(c.templates)+len(c.Errs) > 0 || c.NearKustomization
}

// readFile reads a file as it is.
func readFile(f units.File, stdin io.Reader) fileContent {
	docs, errs := manifest.ReadTolerant(f.Path, stdin)
	c := fileContent{Source: Source{Path: f.Path, Named: f.Named, NearKustomization: f.NearKustomization}, unit: f.Unit}
	for _, d := range docs {
		d.Unit, d.Zone = f.Unit, f.Zone
		if !f.Named && d.IsTemplate() {
			c.template(f, fmt.Sprintf("line %d: a template engine fills in the name of %s", d.Line, d))
			continue
		}
		c.Docs = append(c.Docs, d)
	}
	for _, err := range errs {
		var e *manifest.Error
		switch errors.As(err, &e); {
		case e == nil || f.Named || e.Class == manifest.Broken:
			c.Errs = append(c.Errs, err)
		case e.Class == manifest.Template:
			c.template(f, strings.TrimPrefix(err.Error(), f.Path+":"))
		default:
			c.Other = append(c.Other, err)
		}
	}
	if f.Named && len(docs) > 0 && len(errs) == 0 && !slices.ContainsFunc(docs, (*manifest.Document).IsObject) {
		c.Errs = append(c.Errs, &manifest.Error{File: f.Path, Err: errors.New("is not a Kubernetes object: write apiVersion and kind")})
	}
	return c
}

// template adds the file to those that are templates.
func (c *fileContent) template(f units.File, reason string) {
	if len(c.templates) == 0 && !f.OfChart { // it is rendered with the chart
		c.templates = append(c.templates, Unjudged{Kind: "template", Path: f.Path, Reason: reason})
	}
}
