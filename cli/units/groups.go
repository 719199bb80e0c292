package units

import (
	"path/filepath"
	"slices"
	"strings"
)

// groups are the charts and kustomizations among files.
type groups struct {
	charts   map[string]*Unit
	kustomed map[string]*Unit
	// owner has, for a file or folder that a kustomization uses, the folder of the
	// kustomization; the first one by path.
	owner map[string]string
	// dependencies are the folders of charts that other charts name by their paths.
	dependencies map[string]bool
}

func newGroups(files []string) *groups {
	g := &groups{charts: map[string]*Unit{}, kustomed: map[string]*Unit{}, owner: map[string]string{}, dependencies: map[string]bool{}}
	for _, file := range files {
		folder := filepath.Dir(file)
		switch {
		case filepath.Base(file) == chartFile:
			g.charts[folder] = &Unit{Kind: Chart, Folder: folder}
			for _, path := range localDependencies(file) {
				g.dependencies[path] = true
			}
		case isKustomization(file):
			k, ok := readKustomization(file)
			if !ok {
				continue
			}
			g.kustomed[folder] = &Unit{Kind: Kustomization, Folder: folder, Partial: k.Kind == "Component"}
			for _, path := range append(k.uses(folder), file) {
				if _, taken := g.owner[path]; !taken {
					g.owner[path] = folder
				}
			}
		}
	}
	return g
}

// unitOf returns the root unit that a file is a part of, nil for none.
func (g *groups) unitOf(file string) *Unit {
	var found *Unit
	for at := filepath.Dir(file); ; at = filepath.Dir(at) {
		if chart := g.charts[at]; chart != nil && ofChart(at, file) {
			found = chart
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if found != nil {
		return found
	}
	return g.kustomizedBy(file, map[string]bool{})
}

// ofChart reports whether templates of a chart read a file.
func (g *groups) ofChart(file string) bool {
	for at := filepath.Dir(file); ; at = filepath.Dir(at) {
		if g.charts[at] != nil && readByChart(at, file) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// nearKustomization reports whether there is a kustomization in the folder of a file, or in that
// above.
func (g *groups) nearKustomization(file string) bool {
	folder := filepath.Dir(file)
	return g.kustomed[folder] != nil || g.kustomed[filepath.Dir(folder)] != nil
}

// kustomizedBy follows the kustomizations that use a path to the one that no other
// uses; nil if none does. In a cycle it is the one that closes it.
func (g *groups) kustomizedBy(path string, seen map[string]bool) *Unit {
	folder, used := g.owner[path]
	switch {
	case !used:
		return nil
	case !seen[folder] && g.user(folder) != "":
		seen[folder] = true
		return g.kustomizedBy(folder, seen)
	}
	return g.kustomed[folder]
}

// user returns the folder of the kustomization that uses another one, "" for none.
func (g *groups) user(folder string) string {
	if up := g.owner[folder]; up != folder && g.kustomed[up] != nil {
		return up
	}
	return ""
}

// roots returns the units that no other one names.
func (g *groups) roots() []*Unit {
	var found []*Unit
	for folder, u := range g.charts {
		inner := false
		for at := filepath.Dir(folder); ; at = filepath.Dir(at) {
			if at != folder && g.charts[at] != nil && ofChart(at, filepath.Join(folder, chartFile)) {
				inner = true
			}
			if at == filepath.Dir(at) {
				break
			}
		}
		if !inner && !g.dependencies[folder] {
			found = append(found, u)
		}
	}
	for folder, u := range g.kustomed {
		if (g.user(folder) == "" || len(u.Files) > 0) && g.outsideCharts(folder) {
			found = append(found, u)
		}
	}
	slices.SortFunc(found, func(a, b *Unit) int { return strings.Compare(a.Folder, b.Folder) })
	return found
}

func (g *groups) outsideCharts(folder string) bool {
	for at := folder; ; at = filepath.Dir(at) {
		if g.charts[at] != nil && ofChart(at, filepath.Join(folder, "kustomization.yaml")) {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}
