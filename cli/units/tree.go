package units

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/manifest"
)

// A Kind is what renders the files of a unit.
type Kind string

// The kinds of units.
const (
	Chart         Kind = "chart"
	Kustomization Kind = "kustomization"
)

// A Unit is a chart or a kustomization, whose files are manifests only once it is
// rendered.
type Unit struct {
	Kind   Kind
	Folder string
	// Zone is the test folder that it is in: see File.
	Zone string
	// Files are the files that it is rendered from.
	Files []string
	// Partial is true for a component, which others complete.
	Partial bool
	// Only are the paths inside the unit that the user named. If there are some, only
	// what they contain is of interest.
	Only []string
}

// String names the unit.
func (u Unit) String() string { return string(u.Kind) + " " + u.Folder }

// Command is the command that renders the unit.
func (u Unit) Command() string {
	if u.Kind == Chart {
		return "helm template " + u.Folder
	}
	return "kustomize build " + u.Folder
}

// A File has manifests as they are.
type File struct {
	Path string
	// Unit is the folder of the file, whose objects are deployed together.
	Unit string
	// Zone is the outermost folder with tests that the file is in, "" for none. What
	// such a folder defines is for its tests.
	Zone string
	// Named is true if the user named the file itself.
	Named bool
	// OfChart is true if templates of a chart read the file. It may have manifests, or be
	// a template, too.
	OfChart bool
	// NearKustomization is true if there is a kustomization in the folder of the file, or in that
	// above, which does not use the file.
	NearKustomization bool
}

// A Tree is what paths contain.
type Tree struct {
	Files []File
	Units []Unit
	// Hidden counts the files in hidden folders, and those whose names begin with a
	// dot: they configure tools.
	Hidden int
}

// Find finds the files and units in paths, except those that skip reports. A path is
// a file, a folder or standard input. Units inside others are a part of them. A file
// that belongs to a chart, or to the kustomization in its folder, selects that. The
// errors are about paths that cannot be read.
func Find(paths []string, skip func(file string) bool) (*Tree, []error) {
	t := &Tree{}
	var errs []error
	for _, path := range paths {
		if chart := enclosing(path); chart != "" {
			if !manifestOf(chart, path) {
				path = chart // values, or a part of templates, change objects of other files
			}
			t.choose(Unit{Kind: Chart, Folder: chart}, path)
			continue
		}
		if u, resource := user(path); u != nil {
			if resource {
				t.choose(*u, path)
			} else {
				t.choose(*u, u.Folder) // a patch changes objects of other files
			}
			continue
		}
		files, more := manifest.Files([]string{path})
		errs = append(errs, more...)
		if len(files) == 1 && files[0] == path {
			t.Files = append(t.Files, File{Path: path, Unit: filepath.Dir(path), Named: true})
			continue
		}
		t.below(path, slices.DeleteFunc(files, func(file string) bool { return skip != nil && skip(file) }))
	}
	return t, errs
}

// below adds the files below a folder.
func (t *Tree) below(folder string, files []string) {
	visible := files[:0]
	for _, file := range files {
		if inside(folder, file).hidden() {
			if !configures(file) {
				t.Hidden++
			}
			continue
		}
		visible = append(visible, file)
	}
	g := newGroups(visible)
	for _, file := range visible {
		if root := g.unitOf(file); root != nil {
			root.Files = append(root.Files, file)
			continue
		}
		t.Files = append(t.Files, File{Path: file, Unit: filepath.Dir(file), Zone: inside(folder, file).zone(folder), OfChart: g.ofChart(file), NearKustomization: g.nearKustomization(file)})
	}
	for _, u := range g.roots() {
		u.Zone = inside(folder, filepath.Join(u.Folder, "x")).zone(folder)
		t.Units = append(t.Units, *u)
	}
}

// choose adds a unit of which the user named a part.
func (t *Tree) choose(u Unit, path string) {
	for i := range t.Units {
		if same := &t.Units[i]; same.Folder == u.Folder && same.Kind == u.Kind && len(same.Only) > 0 {
			same.Only = append(same.Only, path)
			return
		}
	}
	u.Files, u.Only = []string{path}, []string{path}
	t.Units = append(t.Units, u)
}

// enclosing returns the folder of the chart that a path is a part of, "" for none.
func enclosing(path string) string {
	if path == manifest.Stdin {
		return ""
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	found := ""
	for at, up := filepath.Dir(abs), filepath.Dir(path); at != filepath.Dir(at); at, up = filepath.Dir(at), filepath.Join(up, "..") {
		if _, err := os.Stat(filepath.Join(at, chartFile)); err == nil && ofChart(at, abs) {
			found = up
		}
	}
	return found
}

// steps are the folders of a file, and its name, below the folder that the user named.
type steps []string

func inside(folder, file string) steps {
	rel, err := filepath.Rel(folder, file)
	if err != nil {
		rel = file
	}
	return strings.Split(filepath.ToSlash(rel), "/")
}

func (s steps) hidden() bool {
	return slices.ContainsFunc(s, func(name string) bool { return strings.HasPrefix(name, ".") && name != "." && name != ".." })
}

// configures reports whether a file is usher's own configuration, which is read.
func configures(file string) bool { return filepath.Base(file) == ".usher.yaml" }

// tests are the names of folders whose objects are for tests.
var tests = []string{"test", "tests", "testdata", "e2e", "fixtures"}

// zone returns the outermost folder with tests, "" for none.
func (s steps) zone(folder string) string {
	for i, name := range s[:len(s)-1] {
		if slices.Contains(tests, name) {
			return filepath.Join(append([]string{folder}, s[:i+1]...)...)
		}
	}
	return ""
}
