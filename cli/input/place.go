package input

import (
	"os"
	"strings"
	"sync"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/render"
	"github.com/usher-dev/usher/cli/units"
)

// placer returns what finds the places of a rendered document in its source.
func placer(kind units.Kind, object render.Object, d *manifest.Document) manifest.Placer {
	if kind == units.Chart {
		return &templatePlaces{file: object.File, rendered: object.Text}
	}
	return &sourcePlaces{file: object.File, kind: d.Kind, name: d.Name}
}

// templatePlaces finds lines in a chart's template: those with the same text, or else
// with the same key, if the template and the result have equally many of them.
type templatePlaces struct {
	file, rendered string
	once           sync.Once
	from, to       []string
}

// Place implements manifest.Placer.
func (p *templatePlaces) Place(_ string, rendered int) (line, column int) {
	p.once.Do(func() {
		text, err := os.ReadFile(p.file)
		if err == nil {
			p.from, p.to = strings.Split(string(text), "\n"), strings.Split(p.rendered, "\n")
		}
	})
	if rendered < 1 || rendered > len(p.to) {
		return 0, 0
	}
	for _, same := range []func(string) string{strings.TrimSpace, keyOf} {
		wanted := same(p.to[rendered-1])
		if wanted == "" {
			continue
		}
		before, result := places(p.to, same, wanted, rendered)
		_, source := places(p.from, same, wanted, 0)
		if len(result) == len(source) && before < len(source) {
			at := source[before]
			text := p.from[at-1]
			return at, len(text) - len(strings.TrimLeft(text, " ")) + 1
		}
	}
	return 0, 0
}

// places returns the lines that are the same as the wanted one, and how many of them
// are before a line.
func places(lines []string, same func(string) string, wanted string, line int) (before int, at []int) {
	for i, text := range lines {
		if same(text) == wanted {
			at = append(at, i+1)
			if i+1 < line {
				before++
			}
		}
	}
	return before, at
}

// keyOf returns the key of a line of YAML, "" for none.
func keyOf(line string) string {
	key, _, ok := strings.Cut(strings.TrimLeft(line, " -"), ":")
	if !ok || strings.ContainsAny(key, "{}#\"' ") {
		return ""
	}
	return key
}

// sourcePlaces finds fields in the object that kustomize read.
type sourcePlaces struct {
	file, kind, name string
	once             sync.Once
	source           *manifest.Document
}

// Place implements manifest.Placer.
func (p *sourcePlaces) Place(path string, _ int) (line, column int) {
	p.once.Do(func() {
		docs, _ := manifest.ReadTolerant(p.file, nil)
		for _, d := range docs { // kustomize adds prefixes and suffixes to names
			if d.Kind == p.kind && strings.Contains(p.name, d.Name) && (p.source == nil || len(d.Name) > len(p.source.Name)) {
				p.source = d
			}
		}
	})
	if p.source == nil {
		return 0, 0
	}
	return p.source.Position(path)
}
