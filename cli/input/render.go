package input

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/render"
	"github.com/usher-dev/usher/cli/units"
)

// Charts are the values of charts, by the absolute path of the folder. A chart is
// rendered once for each of its entries; without one, with its own values.
type Charts map[string][]Values

// Values replace the values of a chart. Name tells them apart, such as the file that
// they are from.
type Values struct {
	Name   string
	Values map[string]any
}

// request is a unit to render.
type request struct {
	unit   units.Unit
	name   string // of the unit's objects
	values map[string]any
}

// requests returns what to render: a unit for each of a chart's values.
func (o *Options) requests(found []units.Unit) (requests []request, err error) {
	var charts []string
	for _, u := range found {
		if u.Kind == units.Chart {
			charts = append(charts, u.Folder)
		}
	}
	if o.Given != nil && len(charts) != 1 {
		return nil, fmt.Errorf("--values and --set are for one chart, and the input has %d; write the values of each into charts in .usher.yaml", len(charts))
	}
	for _, u := range found {
		var all []Values
		if abs, err := filepath.Abs(u.Folder); err == nil && u.Kind == units.Chart {
			all = o.Charts[abs]
			if o.Given != nil {
				all = []Values{*o.Given}
			}
		}
		if len(all) == 0 {
			requests = append(requests, request{unit: u, name: u.Folder})
		}
		for _, v := range all {
			requests = append(requests, request{u, u.Folder + " (" + v.Name + ")", v.Values})
		}
	}
	return requests, nil
}

// rendered is what came of a unit.
type rendered struct {
	Source
	notes       []string
	unjudged    []Unjudged
	definitions []*manifest.Document
	// unit is the name of its objects, and partial is true if it lacks some.
	unit    string
	partial bool
}

// render renders a unit.
func (o *Options) render(ctx context.Context, r request, served []string) rendered {
	c := rendered{Source: Source{Path: r.unit.Folder}, unit: r.name, partial: r.unit.Partial}
	result, err := o.Renderer.Render(ctx, render.Request{
		Kind: r.unit.Kind, Folder: r.unit.Folder, Values: r.values, Namespace: o.Namespace, KubernetesVersion: o.KubernetesVersion, APIVersions: served,
	})
	if err != nil {
		c.partial = true
		if c.asWritten(r.unit) {
			return c
		}
		c.leave(r, err.Error())
		c.definitions = definitionsIn(r.unit)
		return c
	}
	c.notes, c.partial = result.Notes, c.partial || result.Partial
	for _, object := range result.Objects {
		docs, errs := manifest.ParseTolerant(object.File, []byte(object.Text))
		for _, d := range docs {
			if d.IsTemplate() {
				c.leave(r, fmt.Sprintf("what %s renders to is a template: it names a %s %q", object.File, d.Kind, d.Name))
				continue
			}
			d.Unit, d.Zone, d.Rendered = r.name, r.unit.Zone, placer(r.unit.Kind, object, d)
			if among(r.unit.Only, object.File) {
				c.Docs = append(c.Docs, d)
			} else {
				c.Context = append(c.Context, d)
			}
		}
		if len(errs) > 0 {
			c.leave(r, fmt.Sprintf("what %s renders to cannot be read: %v", object.File, errs[0]))
		}
	}
	return c
}

// asWritten reads the files of a kustomization that the user named, as they are: of
// these usher can tell more than that the kustomization cannot be rendered.
func (c *rendered) asWritten(u units.Unit) bool {
	if u.Kind != units.Kustomization || len(u.Only) == 0 || slices.Contains(u.Only, u.Folder) {
		return false
	}
	for _, path := range u.Only {
		content := readFile(units.File{Path: path, Unit: u.Folder, Named: true}, nil)
		c.Docs, c.Errs = append(c.Docs, content.Docs...), append(c.Errs, content.Errs...)
	}
	return true
}

// leave reports that a unit, or a part of it, is not judged.
func (c *rendered) leave(r request, reason string) {
	if len(c.unjudged) == 0 {
		c.unjudged = append(c.unjudged, Unjudged{string(r.unit.Kind), r.name, oneLine(reason), r.unit.Command()})
	}
}

// maxReason limits the text of a reason, in bytes: libraries quote what they read.
const maxReason = 500

// oneLine is a text in one line.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// among reports whether a file is one of the paths, or below one. No paths means
// everything.
func among(paths []string, file string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool {
		a, errA := filepath.Abs(path)
		b, errB := filepath.Abs(file)
		return errA == nil && errB == nil && (a == b || strings.HasPrefix(b, a+string(filepath.Separator)))
	})
}

// definitionsIn returns the CustomResourceDefinitions among the files of a unit that
// cannot be rendered: their kinds are known all the same.
func definitionsIn(u units.Unit) (found []*manifest.Document) {
	for _, file := range u.Files {
		docs, _ := manifest.ReadTolerant(file, nil)
		for _, d := range docs {
			if d.IsDefinition() && !d.IsTemplate() {
				d.Unit, d.Zone = u.Folder, u.Zone
				found = append(found, d)
			}
		}
	}
	return found
}

// versions are the API versions that the definitions among the sources serve, as
// charts ask for them.
func versions(sources []Source) (served []string) {
	for _, s := range sources {
		for _, d := range s.Docs {
			if !d.IsDefinition() || d.Zone != "" {
				continue
			}
			defined := d.Definition()
			for _, name := range defined.Served {
				version := defined.Group + "/" + name
				served = append(served, version, version+"/"+defined.Kind)
			}
		}
	}
	slices.Sort(served)
	return slices.Compact(served)
}
