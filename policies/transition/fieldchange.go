package transition

// A FieldChange is one changed field with its objects, for conditions to judge.
type FieldChange struct {
	// Old and New are the whole objects. They may be manifests, with little more
	// than what a person wrote, or complete objects from a server.
	Old, New map[string]any
	// From and To are the field's values, including defaults; nil is absent.
	From, To any
	// Unset is true if the new object does not set the field, so To is a default,
	// or the value that the server keeps.
	Unset bool

	server Version
	// guessed is true after a condition read the status of a manifest without one.
	guessed bool
	// read is what a kind's conditions derived from the objects, once for all
	// changes of a comparison.
	read *any
}

// lookup follows field names from an object's root; nil is absent.
func lookup(m map[string]any, names ...string) any {
	for _, name := range names[:len(names)-1] {
		m, _ = m[name].(map[string]any)
	}
	return m[names[len(names)-1]]
}

// status returns a field of the old object's status. For a manifest without a
// status it returns nil, and notes that the condition is a guess.
func (m *FieldChange) status(names ...string) any {
	status, _ := m.Old["status"].(map[string]any)
	if len(status) == 0 {
		m.guessed = m.guessed || !complete(m.Old)
		return nil
	}
	if len(names) == 0 {
		return status
	}
	return lookup(status, names...)
}

// condition reports whether the old object's status has that condition with
// status True.
func (m *FieldChange) condition(name string) bool {
	conditions, _ := m.status("conditions").([]any)
	for _, c := range conditions {
		if c, _ := c.(map[string]any); text(c["type"]) == name && text(c["status"]) == "True" {
			return true
		}
	}
	return false
}

// text returns a string, or "" for any other value.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// textOr returns a string, or other if absent or empty.
func textOr(v any, other string) string {
	if s := text(v); s != "" {
		return s
	}
	return other
}

// truth returns a boolean, or false for any other value.
func truth(v any) bool {
	b, _ := v.(bool)
	return b
}

// integer returns a number, or other for any other value.
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

func raised(m *FieldChange) bool  { return integer(m.To, 0) > integer(m.From, 0) }
func lowered(m *FieldChange) bool { return integer(m.To, 0) < integer(m.From, 0) }
func toZero(m *FieldChange) bool  { return integer(m.To, -1) == 0 && integer(m.From, 0) > 0 }

// to is the condition that a field changes to that string.
func to(word string) func(*FieldChange) bool {
	return func(m *FieldChange) bool { return text(m.To) == word }
}

// became and ceased are conditions on booleans.
func became(m *FieldChange) bool { return truth(m.To) }
func ceased(m *FieldChange) bool { return !truth(m.To) }

// complete reports whether an object comes from a server, with every default,
// rather than from a manifest.
func complete(m map[string]any) bool { return lookup(m, "metadata", "uid") != nil }

// handedOver: an autoscaler takes over replicas, and the manifest no longer
// sets a number above one.
func handedOver(m *FieldChange) bool { return m.Unset && integer(m.From, 0) > 1 }
