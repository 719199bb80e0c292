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
	if was, will, ok := pair(old, new); ok {
		return was, will, nil
	}
	was, err = decode(old)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding the old object: %w", err)
	}
	will, err = decode(new)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding the new object: %w", err)
	}
	return was, will, nil
}

// decode falls back to the API server's own decoder if the fast one fails.
func decode(data []byte) (map[string]any, error) {
	if value, ok := decodeValue(data); ok {
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

// decodeValue decodes a value. It returns false for one that only a full decoder can
// read, or refuse.
func decodeValue(data []byte) (value any, ok bool) {
	s := jsonscan.New(data)
	defer s.Close()
	value = readValue(s)
	return value, s.Done()
}

// readValue decodes the next value; nil is also that of a failure.
func readValue(s *jsonscan.Scanner) any {
	switch s.Kind() {
	case '{':
		object := map[string]any{}
		for s.Object(); s.Member(); {
			name := unquoted(s.Name)
			object[name] = readValue(s)
		}
		return object
	case '[':
		list := []any{}
		for s.List(); s.Item(); {
			list = append(list, readValue(s))
		}
		return list
	case '"':
		if quoted := s.Skip(); len(quoted) > 0 {
			return unquoted(quoted[1 : len(quoted)-1])
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

// unquoted returns the string between quotation marks.
func unquoted(text []byte) string {
	if bytes.IndexByte(text, '\\') >= 0 {
		text, _ = jsontext.AppendUnquote(nil, slices.Concat([]byte{'"'}, text, []byte{'"'})) // the Scanner has read it
	}
	return string(text)
}

// whole returns a number, as an integer if it is written as one.
func whole(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(text, 64)
}
