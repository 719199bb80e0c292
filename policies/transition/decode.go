package transition

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	kjson "sigs.k8s.io/json"

	"github.com/usher-dev/usher/jsonscan"
)

// DecodeBoth decodes the old and the new object for CompareObjects: like the
// API server, with whole numbers as integers, and without managedFields. Most of
// the two objects is the same, and decoded once: they share these values, which
// nobody may change.
func DecodeBoth(old, new []byte) (was, will map[string]any, err error) {
	interned := interner{}
	if was, will, ok := interned.pair(old, new); ok {
		return was, will, nil
	}
	was, err = interned.decode(old)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding the old object: %w", err)
	}
	will, err = interned.decode(new)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding the new object: %w", err)
	}
	return was, will, nil
}

// An interner has the strings decoded so far, as values.
type interner map[string]any

// maxWord is the maximum length of a string to look up: longer ones rarely
// occur twice.
const maxWord = 64

// decode falls back to the API server's own decoder if the fast one fails.
func (known interner) decode(data []byte) (map[string]any, error) {
	if value, ok := known.value(data); ok {
		if object, ok := value.(map[string]any); ok {
			return object, nil
		}
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		return nil, err
	}
	return object, nil
}

// value decodes a value. It returns false for one that only a full decoder can
// read, or refuse.
func (known interner) value(data []byte) (value any, ok bool) {
	s := jsonscan.New(data)
	defer s.Close()
	value = known.read(s)
	return value, s.Done()
}

// read decodes the next value; nil is also that of a failure.
func (known interner) read(s *jsonscan.Scanner) any {
	switch s.Kind() {
	case '{':
		object := map[string]any{}
		for s.Object(); s.Member(); {
			name := known.word(s.Name)
			object[name.(string)] = known.read(s)
		}
		return object
	case '[':
		list := []any{}
		for s.List(); s.Item(); {
			list = append(list, known.read(s))
		}
		return list
	case '"':
		if quoted := s.Skip(); len(quoted) > 0 {
			return known.word(quoted[1 : len(quoted)-1])
		}
		return nil
	case 't', 'f':
		return s.Bool()
	case 'n':
		s.Null()
		return nil
	}
	n, err := whole(string(s.Skip()))
	if err != nil {
		s.Fail()
	}
	return n
}

// word returns the string between quotation marks.
func (known interner) word(quoted []byte) any {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		text, _ := jsontext.AppendUnquote(nil, slices.Concat([]byte{'"'}, quoted, []byte{'"'})) // the Scanner has read it
		return string(text)
	}
	if len(quoted) > maxWord {
		return string(quoted)
	}
	if value, ok := known[string(quoted)]; ok {
		return value
	}
	word := string(quoted)
	known[word] = word
	return known[word]
}

// whole returns a number, as an integer if it is written as one.
func whole(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(text, 64)
}
