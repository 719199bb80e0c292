package transition

import (
	"maps"
	"slices"
)

const (
	// maxChanges limits the result; an object of 3 MiB may differ in 100,000
	// places.
	maxChanges = 1000
	// maxDepth limits the depth to which a value without a schema is compared.
	maxDepth = 64
)

// A walk compares an old and a new object side by side.
type walk struct {
	kind   *Kind
	diff   *Diff
	change FieldChange

	found   int
	seen    map[string]bool // rows with a change in the result
	changed bool
}

// comparedMetadata are the compared metadata fields; the others are managed by
// the server, or identify the object.
var comparedMetadata = []string{"annotations", "finalizers", "labels", "ownerReferences"}

// bookkeeping are annotations that kubectl and controllers manage: they change
// whenever anything else does.
var bookkeeping = map[string]bool{
	"deployment.kubernetes.io/revision":        true,
	"deprecated.daemonset.template.generation": true,
	lastApplied: true,
}

func (w *walk) root(old, new map[string]any) {
	schema := w.kind.schema
	if schema == nil {
		schema = &node{kind: object}
	}
	for _, name := range union(old, new) {
		switch name {
		case "apiVersion", "kind", "status":
		case "metadata":
			was, _ := old[name].(map[string]any)
			will, _ := new[name].(map[string]any)
			p := (*path)(nil).field(name)
			for _, member := range comparedMetadata {
				w.member(p, metadataField(member), side{m: was}, side{m: will}, member)
			}
		default:
			w.member(nil, schema.fields[name], side{m: old}, side{m: new}, name)
		}
	}
	if w.changed {
		w.whole()
	}
}

func metadataField(name string) *field {
	switch name {
	case "annotations", "labels":
		return &field{node: &node{kind: dict, elem: &node{}}}
	case "ownerReferences":
		return &field{node: &node{kind: list, elem: &node{kind: anything}}, key: "uid"}
	}
	return &field{node: &node{kind: list, elem: &node{}}}
}

// A side is an object's members in one of the two objects.
type side struct {
	m map[string]any
	// absent is true if the object around the member does not exist, so neither do
	// its defaults.
	absent bool
}

// value returns the effective value of the member: the written one, or the
// server's default.
func (s side) value(f *field, name string) (v any, written bool) {
	v = s.m[name]
	if (!f.pointer || f.kind == list || f.kind == dict) && empty(v) {
		v = nil
	}
	if v != nil {
		return v, true
	}
	if f.byDefault != nil && !s.absent {
		return f.byDefault(s.m), false
	}
	return nil, false
}

func (w *walk) members(p *path, n *node, old, new side) {
	for _, name := range union(old.m, new.m) {
		f := n.fields[name]
		if f != nil && f.ignored {
			continue
		}
		w.member(p, f, old, new, name)
	}
}

// member compares one member of two objects. It creates the path only if there
// is a difference to walk: most members are the same.
func (w *walk) member(around *path, f *field, old, new side, name string) {
	if same(old.m[name], new.m[name]) && old.absent == new.absent {
		return
	}
	p := around.field(name)
	if f == nil {
		f = &field{node: &node{kind: anything}, pointer: true}
	}
	was, wasWritten := old.value(f, name)
	will, willWritten := new.value(f, name)
	if !wasWritten && !willWritten {
		return // neither sets it: the server keeps its value
	}
	if f.mirrored && was != nil && !willWritten && !complete(w.change.New) {
		w.restored(p, was)
		return
	}
	if f.kind == object {
		a, isA := asObject(was)
		b, isB := asObject(will)
		if isA && isB {
			present := was != nil && will != nil
			if present || !f.pointer {
				w.members(p, f.node, side{m: a}, side{m: b})
				return
			}
			if w.rowsBelow(p) {
				before := w.found
				w.members(p, f.node, side{a, was == nil}, side{b, will == nil})
				if w.found > before {
					return
				}
			}
		}
	}
	w.values(p, f.node, f.key, was, will, !willWritten)
}

// asObject treats absence as an object without members.
func asObject(v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	return m, ok || v == nil
}

// values compares the values at one place; nil is absent.
func (w *walk) values(p *path, n *node, key string, was, will any, unset bool) {
	kind := n.kind
	if kind == anything {
		kind = shape(was, will, p)
	}
	switch kind {
	case object:
		a, isA := was.(map[string]any)
		b, isB := will.(map[string]any)
		if isA && isB {
			w.members(p, n, side{m: a}, side{m: b})
			return
		}
	case dict:
		a, isA := asObject(was)
		b, isB := asObject(will)
		if isA && isB {
			w.entries(p, n.elem, a, b)
			return
		}
	case list:
		a, isA := asList(was)
		b, isB := asList(will)
		if isA && isB {
			w.items(p, n, key, a, b)
			return
		}
	case quantity:
		if was != nil && will != nil && sameQuantity(was, will) {
			return
		}
	}
	if !same(was, will) {
		w.report(p, was, will, unset)
	}
}

// shape returns the kind of node for two values without a schema.
func shape(was, will any, p *path) nodeKind {
	_, mapA := was.(map[string]any)
	_, mapB := will.(map[string]any)
	if mapA && mapB && len(p.steps()) < maxDepth {
		return object
	}
	return scalar
}

func asList(v any) ([]any, bool) {
	l, ok := v.([]any)
	return l, ok || v == nil
}

func (w *walk) entries(p *path, elem *node, old, new map[string]any) {
	for _, key := range union(old, new) {
		was, isA := old[key]
		will, isB := new[key]
		switch {
		case isA == isB && same(was, will):
		case p.name == "annotations" && bookkeeping[key]:
		case isA && isB:
			w.values(p.key(key), elem, "", was, will, false)
		default:
			w.report(p.key(key), was, will, !isB)
		}
	}
}

// union returns the names in either map, sorted.
func union(a, b map[string]any) []string {
	names := slices.AppendSeq(make([]string, 0, len(a)+len(b)), maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// rowsBelow reports whether a row is about a field below the path.
func (w *walk) rowsBelow(p *path) bool {
	steps := p.steps()
	for _, row := range w.kind.rows {
		if row.below(steps) {
			return true
		}
	}
	return false
}
