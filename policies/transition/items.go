package transition

// items compares two lists: by key if every item has a unique one, else item by
// item if they contain objects, else as a whole.
func (w *walk) items(p *path, n *node, key string, old, new []any) {
	was, okA := byKey(old, key)
	will, okB := byKey(new, key)
	switch {
	case okA && okB:
		w.keyed(p, n.elem, key, old, new, was, will)
	case n.elem != nil && n.elem.kind == object:
		for i := range max(len(old), len(new)) {
			switch {
			case i >= len(old):
				w.report(p.item(i), nil, new[i], false)
			case i >= len(new):
				w.report(p.item(i), old[i], nil, true)
			default:
				w.values(p.item(i), n.elem, "", old[i], new[i], false)
			}
		}
	default:
		for i := range max(len(old), len(new)) {
			if i >= len(old) || i >= len(new) || !same(old[i], new[i]) {
				w.report(p, orAbsent(old), orAbsent(new), new == nil)
				return
			}
		}
	}
}

// orAbsent keeps an absent list absent.
func orAbsent(l []any) any {
	if l == nil {
		return nil
	}
	return l
}

// byKey returns the items' positions by their key; false if an item has no key,
// or shares it.
func byKey(items []any, key string) (map[any]int, bool) {
	if key == "" {
		return nil, false
	}
	places := make(map[any]int, len(items))
	for i, item := range items {
		name := keyOf(item, key)
		if _, twice := places[name]; twice || name == nil {
			return nil, false
		}
		places[name] = i
	}
	return places, true
}

// keyOf returns the item's key, comparable however its number was decoded, or
// nil.
func keyOf(item any, key string) any {
	m, _ := item.(map[string]any)
	if s, ok := m[key].(string); ok {
		return s
	}
	if n, ok := number(m[key]); ok && n.IsInt() {
		i, _ := n.Int64()
		return i
	}
	return nil
}

func (w *walk) keyed(p *path, elem *node, key string, old, new []any, was, will map[any]int) {
	last, moved := -1, false
	for i, item := range new {
		place, ok := was[keyOf(item, key)]
		if !ok {
			w.report(p.item(i), nil, item, false)
			continue
		}
		moved = moved || place < last
		last = place
		if !same(old[place], item) {
			w.values(p.item(i), elem, "", old[place], item, false)
		}
	}
	for i, item := range old {
		if _, ok := will[keyOf(item, key)]; !ok {
			w.report(p.item(i), item, nil, true)
		}
	}
	if moved {
		// The order matters: init containers run in it, and the server treats another
		// order as another pod template.
		w.report(p, keys(old, key), keys(new, key), false)
	}
}

func keys(items []any, key string) []any {
	names := make([]any, len(items))
	for i, item := range items {
		names[i] = keyOf(item, key)
	}
	return names
}
