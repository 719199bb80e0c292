package transition

import (
	"bytes"

	"github.com/usher-dev/usher/jsonscan"
)

// A part is a member of an object, or an item of a list, as it is written.
type part struct{ name, value []byte }

// A level is how deep values are in the objects.
type level int

const (
	root level = iota
	// metadata is the level of the object's own metadata.
	metadata
	below
	// deepest is the level below which values are decoded separately, because each
	// level reads those below it again.
	deepest = below + 16
)

// pair decodes two objects side by side, and what is written alike in both only
// once. It returns false for objects that only a full decoder can read, or refuse.
func (known interner) pair(old, new []byte, at level) (was, will map[string]any, ok bool) {
	olds, ok := members(old)
	if !ok {
		return nil, nil, false
	}
	news, ok := members(new)
	if !ok {
		return nil, nil, false
	}
	inOld, inNew := index{parts: olds}, index{parts: news}
	was, will = make(map[string]any, len(olds)), make(map[string]any, len(news))
	for i := range olds {
		o := &olds[i]
		if at == metadata && string(o.name) == "managedFields" {
			continue
		}
		name := known.word(o.name).(string)
		n := inNew.find(o.name, i)
		if n == nil {
			if was[name], ok = known.value(o.value); !ok {
				return nil, nil, false
			}
			continue
		}
		deeper := max(at+1, below)
		if at == root && name == "metadata" {
			deeper = metadata
		}
		if was[name], will[name], ok = known.values(o.value, n.value, deeper); !ok {
			return nil, nil, false
		}
	}
	for i := range news {
		n := &news[i]
		if at == metadata && string(n.name) == "managedFields" || inOld.find(n.name, i) != nil {
			continue
		}
		if will[known.word(n.name).(string)], ok = known.value(n.value); !ok {
			return nil, nil, false
		}
	}
	return was, will, true
}

// values decodes the two values at one place.
func (known interner) values(old, new []byte, at level) (was, will any, ok bool) {
	switch {
	case at != metadata && bytes.Equal(old, new):
		was, ok = known.value(old)
		return was, was, ok
	case at == deepest:
	case old[0] == '{' && new[0] == '{':
		return known.pair(old, new, at)
	case old[0] == '[' && new[0] == '[':
		return known.lists(old, new, at)
	}
	if was, ok = known.value(old); !ok {
		return nil, nil, false
	}
	will, ok = known.value(new)
	return was, will, ok
}

// lists decodes two lists item by item.
func (known interner) lists(old, new []byte, at level) (was, will []any, ok bool) {
	olds, ok := items(old)
	if !ok {
		return nil, nil, false
	}
	news, ok := items(new)
	if !ok {
		return nil, nil, false
	}
	was, will = make([]any, len(olds)), make([]any, len(news))
	for i := range max(len(olds), len(news)) {
		switch {
		case i >= len(news):
			was[i], ok = known.value(olds[i])
		case i >= len(olds):
			will[i], ok = known.value(news[i])
		default:
			was[i], will[i], ok = known.values(olds[i], news[i], max(at+1, below))
		}
		if !ok {
			return nil, nil, false
		}
	}
	return was, will, true
}

// members splits an object.
func members(data []byte) (parts []part, ok bool) {
	s := jsonscan.New(data)
	defer s.Close()
	for s.Object(); s.Member(); {
		name := s.Name
		parts = append(parts, part{name, s.Skip()})
	}
	return parts, s.Done()
}

// items splits a list.
func items(data []byte) (parts [][]byte, ok bool) {
	s := jsonscan.New(data)
	defer s.Close()
	for s.List(); s.Item(); {
		parts = append(parts, s.Skip())
	}
	return parts, s.Done()
}

// An index finds members by name.
type index struct {
	parts  []part
	byName map[string]int
}

// find returns the member of a name, or nil. Mostly it is at the same place in both
// objects.
func (x *index) find(name []byte, at int) *part {
	if at < len(x.parts) && bytes.Equal(x.parts[at].name, name) {
		return &x.parts[at]
	}
	if x.byName == nil {
		x.byName = make(map[string]int, len(x.parts))
		for i := range x.parts {
			x.byName[string(x.parts[i].name)] = i
		}
	}
	if i, ok := x.byName[string(name)]; ok {
		return &x.parts[i]
	}
	return nil
}
