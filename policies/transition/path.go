package transition

import (
	"strconv"
	"strings"
)

// A path leads from an object's root to a field, linked from its end so that
// the walk extends it without copying.
type path struct {
	parent *path
	name   string // for a field, or a map's key
	index  int    // for a list's item
	kind   stepKind
}

type stepKind int

const (
	stepField stepKind = iota
	stepKey
	stepItem
)

func (p *path) field(name string) *path { return &path{parent: p, name: name, kind: stepField} }
func (p *path) key(name string) *path   { return &path{parent: p, name: name, kind: stepKey} }
func (p *path) item(index int) *path    { return &path{parent: p, index: index, kind: stepItem} }

func (p *path) steps() []*path {
	n := 0
	for q := p; q != nil; q = q.parent {
		n++
	}
	steps := make([]*path, n)
	for q := p; q != nil; q = q.parent {
		n--
		steps[n] = q
	}
	return steps
}

// String formats the path like the API server in the causes of a status.
func (p *path) String() string {
	var b strings.Builder
	for _, s := range p.steps() {
		switch s.kind {
		case stepField:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		case stepKey:
			b.WriteString("[" + s.name + "]")
		case stepItem:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
}

// A pattern is a row's path, split into names; "*" is any item or key.
type pattern []string

// parsePattern parses "a.b[*].c" and "a.b[key.with/dots]".
func parsePattern(s string) pattern {
	var p pattern
	for s != "" {
		if s[0] == '[' {
			name, rest, _ := strings.Cut(s[1:], "]")
			p, s = append(p, name), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(s, ".[")
		if end < 0 {
			return append(p, s)
		}
		p, s = append(p, s[:end]), strings.TrimPrefix(s[end:], ".")
	}
	return p
}

// patterns are the paths of one row; none is the whole object.
type patterns []pattern

func parsePatterns(paths ...string) patterns {
	var ps patterns
	for _, s := range paths {
		if s != "." {
			ps = append(ps, parsePattern(s))
		}
	}
	return ps
}

func (ps patterns) cover(steps []*path) bool {
	for _, p := range ps {
		if p.covers(steps) {
			return true
		}
	}
	return false
}

func (ps patterns) below(steps []*path) bool {
	for _, p := range ps {
		if p.below(steps) {
			return true
		}
	}
	return false
}

// covers reports whether the steps lead to the pattern's field or below it.
func (p pattern) covers(steps []*path) bool {
	return len(p) <= len(steps) && p.agrees(steps[:len(p)])
}

// below reports whether the pattern's field is below the steps.
func (p pattern) below(steps []*path) bool {
	return len(p) > len(steps) && p[:len(steps)].agrees(steps)
}

func (p pattern) agrees(steps []*path) bool {
	for i, name := range p {
		if name == "*" {
			if steps[i].kind == stepField {
				return false
			}
		} else if steps[i].kind == stepItem || steps[i].name != name {
			return false
		}
	}
	return true
}
