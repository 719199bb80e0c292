package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// variations returns n variations of valid objects, with one to three changes
// each. The same seed returns the same ones.
func variations(seed uint64, n int, valid []object) []object {
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]object, 0, n)
	for i := range n {
		base := valid[random.IntN(len(valid))]
		var tree map[string]any
		if json.Unmarshal(base.raw, &tree) != nil {
			continue
		}
		m := mutator{Rand: random}
		for range 1 + random.IntN(3) {
			m.change(tree)
		}
		raw, err := json.Marshal(tree)
		if err != nil {
			continue
		}
		o := describe(fmt.Sprintf("%d: %s with %s", i, base.from, strings.Join(m.done, ", ")), raw)
		// It replaces the original, so kind and namespace stay.
		o.apiVersion, o.kind, o.namespace = base.apiVersion, base.kind, base.namespace
		out = append(out, o)
	}
	return out
}

// A mutator makes one change at a time and records it.
type mutator struct {
	*rand.Rand
	done []string
}

// A spot is a place in a tree that can be read, set and removed.
type spot struct {
	path   string
	value  any
	set    func(any)
	remove func()
}

// change changes an existing value, or adds a relevant field.
func (m *mutator) change(tree map[string]any) {
	if m.IntN(3) == 0 && m.add(tree) {
		return
	}
	var spots []spot
	collect(tree, "", &spots)
	if len(spots) == 0 {
		return
	}
	s := spots[m.IntN(len(spots))]
	if m.IntN(6) == 0 {
		s.remove()
		m.done = append(m.done, "no "+s.path)
		return
	}
	value := m.other(s)
	s.set(value)
	text, _ := json.Marshal(value)
	m.done = append(m.done, s.path+"="+string(text[:min(len(text), 80)]))
}

func collect(value any, path string, spots *[]spot) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			if at != "apiVersion" && at != "kind" && at != "metadata" && at != "spec" && at != "metadata.namespace" {
				*spots = append(*spots, spot{at, v[key], func(x any) { v[key] = x }, func() { delete(v, key) }})
			}
			collect(v[key], at, spots)
		}
	case []any:
		for i := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			*spots = append(*spots, spot{at, v[i], func(x any) { v[i] = x }, func() { v[i] = map[string]any{} }})
			collect(v[i], at, spots)
		}
	}
}

// other returns a replacement for a value, mostly of the same type.
func (m *mutator) other(s spot) any {
	pick := func(values ...any) any { return values[m.IntN(len(values))] }
	if m.IntN(12) == 0 {
		return pick("text", 7, true, []any{}, map[string]any{}, nil)
	}
	switch v := s.value.(type) {
	case string:
		return pick("", "Upper", "a b", "a.b", "a_b", "-a", strings.Repeat("x", 64), strings.Repeat("y", 254), v+"-2", "Always", "Never", "OnFailure", "web", "data", "80", "10%", "1Gi", "-1", "/x", "../x")
	case float64:
		return pick(-1, 0, 1, 2, 3, 80, 65535, 65536, 100001, int64(3000000000), v+1, 1.5)
	case bool:
		return !v
	case []any:
		if len(v) > 0 {
			return pick([]any{}, append(slices.Clone(v), v[0]), v[:len(v)-1])
		}
		return []any{map[string]any{}}
	case map[string]any:
		return pick(map[string]any{}, map[string]any{"a/b": "c"}, map[string]any{"app": "web"}, nil)
	}
	return pick("text", 7, true)
}
