package transition

// A Move is one changed field within its objects, for conditions to judge.
type Move struct {
	// Old and New are the whole objects. They may be manifests, with little
	// more than what a person wrote, or complete, as a server holds them.
	Old, New map[string]any
	// From and To are the field's values, defaults filled in; nil is absent.
	From, To any
	// Unset: the new object does not write the field, so To is a default, or
	// what the server keeps.
	Unset bool

	server Version
	// read is what a kind's conditions made of the objects, once for all moves
	// of a comparison.
	read *any
}

// lookup follows field names from an object's root; nil is absent.
func lookup(m map[string]any, names ...string) any {
	for _, name := range names[:len(names)-1] {
		m, _ = m[name].(map[string]any)
	}
	return m[names[len(names)-1]]
}

// text is a string, or "" for anything else.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// textOr is a string, or other where absent or empty.
func textOr(v any, other string) string {
	if s := text(v); s != "" {
		return s
	}
	return other
}

// truth is a boolean, or false for anything else.
func truth(v any) bool {
	b, _ := v.(bool)
	return b
}

// integer is a number, or other for anything else.
func integer(v any, other int64) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case int:
		return int64(v)
	}
	n, ok := number(v)
	if !ok {
		return other
	}
	i, _ := n.Int64()
	return i
}

// Conditions that several kinds share.

func raised(m *Move) bool  { return integer(m.To, 0) > integer(m.From, 0) }
func lowered(m *Move) bool { return integer(m.To, 0) < integer(m.From, 0) }
func toZero(m *Move) bool  { return integer(m.To, -1) == 0 && integer(m.From, 0) > 0 }

// to is the condition that a field becomes that word.
func to(word string) func(*Move) bool {
	return func(m *Move) bool { return text(m.To) == word }
}

// became and ceased are conditions on booleans.
func became(m *Move) bool { return truth(m.To) }
func ceased(m *Move) bool { return !truth(m.To) }

// complete says whether an object came from a server, every field filled in,
// rather than from a manifest.
func complete(m map[string]any) bool { return lookup(m, "metadata", "uid") != nil }

// handedOver: replicas are left to an autoscaler, and the manifest stops
// writing a number over one.
func handedOver(m *Move) bool { return m.Unset && integer(m.From, 0) > 1 }
