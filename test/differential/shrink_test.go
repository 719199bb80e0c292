package differential

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// shrink removes from a batch of one scene what a difference does not need:
// first from the scene and its namespace, then from the templates and the
// configuration.
func (s *stand) shrink(ctx context.Context, b *batch, d difference) (*batch, difference) {
	const rounds = 12
	for range rounds {
		smaller, found := s.smaller(ctx, b, d)
		if smaller == nil {
			break
		}
		b, d = smaller, found
	}
	try := func(v *batch) {
		if found := s.remains(ctx, v, d); len(found) > 0 {
			b, d = v, found[v.Scenes[0].Name]
		}
	}
	for i := len(b.Templates) - 1; i >= 0; i-- {
		v := *b
		v.Templates = slices.Delete(slices.Clone(b.Templates), i, i+1)
		try(&v)
	}
	if b.Configuration != "" {
		v := *b
		v.Configuration = ""
		try(&v)
	}
	return b, d
}

// smaller returns a smaller batch with the same difference, or nil. It tests
// the candidates as scenes of one batch, each in a namespace of its own.
func (s *stand) smaller(ctx context.Context, b *batch, d difference) (*batch, difference) {
	part := partOf(b)
	removals := part.removals()
	all := *b
	all.Namespaces, all.Scenes = nil, nil
	for i, r := range removals {
		part.without(r).join(&all, fmt.Sprintf("v%d", i))
	}
	if len(all.Scenes) == 0 {
		return nil, d
	}
	found := s.remains(ctx, &all, d)
	var removed [][]any
	for i, sc := range all.Scenes {
		if _, ok := found[sc.Name]; ok {
			removed = append(removed, removals[i])
		}
	}
	if len(removed) == 0 {
		return nil, d
	}
	// All at once, else the largest removal.
	slices.SortFunc(removed, later)
	biggest := slices.MinFunc(removed, func(a, b []any) int { return cmp.Compare(part.without(a).size(), part.without(b).size()) })
	for _, choice := range [][][]any{removed, {biggest}} {
		v := *b
		v.Namespaces, v.Scenes = nil, nil
		part.without(choice...).join(&v, "w")
		if found := s.remains(ctx, &v, d); len(found) > 0 {
			return &v, found[v.Scenes[0].Name]
		}
	}
	return nil, d
}

// remains plays a batch and returns the same difference by its scenes.
func (s *stand) remains(ctx context.Context, b *batch, d difference) map[string]difference {
	found := map[string]difference{}
	r, err := s.compare(ctx, b, nil)
	if err != nil {
		return found // a request that the API server refuses shows nothing
	}
	for name, differences := range r.differences {
		for _, other := range differences {
			if other.signature() == d.signature() {
				found[name] = other
			}
		}
	}
	return found
}

// A part is a scene with its namespace, in JSON types.
type part struct {
	Namespace object
	Scene     object
}

func partOf(b *batch) part {
	p := part{Scene: generic(b.Scenes[0])}
	if len(b.Namespaces) > 0 {
		p.Namespace = generic(b.Namespaces[0])
	}
	return p
}

func generic(v any) object {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		panic(err)
	}
	return o
}

// removals returns the paths of everything removable.
func (p part) removals() [][]any {
	var paths [][]any
	var walk func(v any, path []any)
	walk = func(v any, path []any) {
		if len(path) > 2 {
			paths = append(paths, slices.Clone(path))
		}
		switch v := v.(type) {
		case object:
			for _, key := range sortedKeys(v) {
				if !slices.Contains([]string{"apiVersion", "kind", "name", "namespace"}, key) {
					walk(v[key], append(path, key))
				}
			}
		case []any:
			for i, item := range v {
				walk(item, append(path, i))
			}
		}
	}
	walk(p.Namespace["Labels"], []any{"Namespace", "Labels"})
	walk(p.Namespace["Others"], []any{"Namespace", "Others"})
	walk(p.Scene["Object"], []any{"Scene", "Object"})
	if p.Scene["Old"] != nil {
		walk(p.Scene["Old"], []any{"Scene", "Old"})
	}
	return paths
}

// later orders paths so that the last item of a list comes first.
func later(a, b []any) int {
	for i := range min(len(a), len(b)) {
		if reflect.DeepEqual(a[i], b[i]) {
			continue
		}
		x, isX := a[i].(int)
		y, isY := b[i].(int)
		if isX && isY {
			return cmp.Compare(y, x)
		}
		return strings.Compare(fmt.Sprint(a[i]), fmt.Sprint(b[i]))
	}
	return cmp.Compare(len(b), len(a)) // children before their parents
}

// without returns the part without some paths.
func (p part) without(paths ...[]any) part {
	whole := generic(p)
	for _, path := range paths {
		remove(whole, path)
	}
	p.Namespace, _ = whole["Namespace"].(object)
	p.Scene, _ = whole["Scene"].(object)
	return p
}

// remove removes a field or an item and returns its parent.
func remove(v any, path []any) any {
	switch v := v.(type) {
	case object:
		key := path[0].(string)
		if len(path) == 1 {
			delete(v, key)
		} else if v[key] != nil {
			v[key] = remove(v[key], path[1:])
		}
		return v
	case []any:
		i := path[0].(int)
		if i >= len(v) {
			return v
		}
		if len(path) == 1 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = remove(v[i], path[1:])
		return v
	}
	return v
}

func (p part) size() int {
	text, _ := json.Marshal(p) // it was JSON
	return len(text)
}

// join adds the part to a batch, with unique names.
func (p part) join(b *batch, suffix string) {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	name, _ := p.Scene["Name"].(string)
	replaced := strings.ReplaceAll(string(text), name, name+suffix)
	if namespace, _ := p.Namespace["Name"].(string); namespace != "" {
		replaced = strings.ReplaceAll(replaced, namespace, namespace+suffix)
	}
	var copied struct {
		Namespace *namespace
		Scene     *scene
	}
	if err := json.Unmarshal([]byte(replaced), &copied); err != nil {
		return // a removal left an invalid scene
	}
	if copied.Namespace != nil {
		b.Namespaces = append(b.Namespaces, *copied.Namespace)
	}
	b.Scenes = append(b.Scenes, copied.Scene)
}
