package transition

import (
	"bytes"

	"github.com/usher-dev/usher/jsonscan"
)

// A level is how deep values are in the objects.
type level int

const (
	root level = iota
	// metadata is the level of the object's own metadata.
	metadata
	below
	// deepest is the level below which values are decoded separately, because each
	// level may read those below it again.
	deepest = below + 16
)

// pair decodes two objects side by side, and what is written alike in both only
// once. It returns false for objects that only a full decoder can read, or refuse.
func pair(old, new []byte) (was, will map[string]any, ok bool) {
	a, b, ok := texts(old, new, root)
	was, isWas := a.(map[string]any)
	will, isWill := b.(map[string]any)
	return was, will, ok && isWas && isWill
}

// texts decodes two values at one place.
func texts(old, new []byte, at level) (was, will any, ok bool) {
	o, n := jsonscan.New(old), jsonscan.New(new)
	defer o.Close()
	defer n.Close()
	was, will = both(o, n, at)
	return was, will, o.Done() && n.Done()
}

// both decodes the next value of both texts.
func both(old, new *jsonscan.Scanner, at level) (was, will any) {
	start, kind := old.Start(), old.Kind()
	if (kind == '{' || kind == '[') && kind == new.Kind() && at < deepest {
		if at >= below {
			if text := old.Skip(); new.SkipSame(text) {
				was, ok := decodeValue(text)
				if !ok {
					old.Fail()
				}
				return was, was
			}
			old.Back(start)
		}
		if kind == '{' {
			return objects(old, new, at)
		}
		return lists(old, new, at)
	}
	was = readValue(old)
	if new.SkipSame(old.Since(start)) {
		return was, was
	}
	return was, readValue(new)
}

// objects decodes two objects, whose members are mostly the same and in the same
// order.
func objects(old, new *jsonscan.Scanner, at level) (was, will map[string]any) {
	was, will = map[string]any{}, map[string]any{}
	old.Object()
	new.Object()
	for {
		inOld, inNew := old.Member(), new.Member()
		switch {
		case !inOld && !inNew:
			return was, will
		case !inOld || !inNew || !bytes.Equal(old.Name, new.Name):
			decodeRest(old, new, rest(old, inOld), rest(new, inNew), was, will, at)
			return was, will
		case at == metadata && string(old.Name) == managedFields:
			old.Skip()
			new.Skip()
			continue
		}
		name := unquoted(old.Name)
		was[name], will[name] = both(old, new, at.of(name))
	}
}

// of returns the level of an object's member.
func (at level) of(name string) level {
	if at == root && name == "metadata" {
		return metadata
	}
	return max(at+1, below)
}

// managedFields are not compared, and most of many objects.
const managedFields = "managedFields"

// A part is a member of an object, as it is written.
type part struct{ name, value []byte }

// rest splits the rest of an object, from a member on whose name was read.
func rest(s *jsonscan.Scanner, more bool) (parts []part) {
	for ; more; more = s.Member() {
		name := s.Name
		parts = append(parts, part{name, s.Skip()})
	}
	return parts
}

// decodeRest decodes the members of two objects from the first difference in their names
// on.
func decodeRest(old, new *jsonscan.Scanner, olds, news []part, was, will map[string]any, at level) {
	if !old.OK() || !new.OK() {
		return
	}
	inNew := make(map[string]int, len(news))
	for i := range news {
		inNew[string(news[i].name)] = i
	}
	decodeOne := func(into map[string]any, p part) {
		value, ok := decodeValue(p.value)
		if !ok {
			old.Fail()
		}
		into[unquoted(p.name)] = value
	}
	for _, o := range olds {
		i, both := inNew[string(o.name)]
		switch {
		case at == metadata && string(o.name) == managedFields:
		case !both:
			decodeOne(was, o)
		default:
			name := unquoted(o.name)
			var ok bool
			if was[name], will[name], ok = texts(o.value, news[i].value, at.of(name)); !ok {
				old.Fail()
			}
			news[i].name = nil
		}
	}
	for _, n := range news {
		if n.name != nil && (at != metadata || string(n.name) != managedFields) {
			decodeOne(will, n)
		}
	}
}

// lists decodes two lists item by item.
func lists(old, new *jsonscan.Scanner, at level) (was, will []any) {
	was, will = []any{}, []any{}
	old.List()
	new.List()
	inOld, inNew := old.Item(), new.Item()
	for inOld || inNew {
		var o, n any
		switch {
		case inOld && inNew:
			o, n = both(old, new, max(at+1, below))
		case inOld:
			o = readValue(old)
		default:
			n = readValue(new)
		}
		if inOld {
			was = append(was, o)
			inOld = old.Item()
		}
		if inNew {
			will = append(will, n)
			inNew = new.Item()
		}
	}
	return was, will
}
