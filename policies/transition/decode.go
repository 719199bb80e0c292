package transition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	kjson "sigs.k8s.io/json"
)

// DecodeBoth decodes the old and the new object for CompareObjects: like the
// API server, with whole numbers as integers. The two mostly contain the same
// strings, which are stored once.
func DecodeBoth(old, new []byte) (was, will map[string]any, err error) {
	interned := interner{}
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

var errNotObject = errors.New("the value is not an object")

// decode falls back to the API server's own decoder if the fast one fails.
func (known interner) decode(data []byte) (map[string]any, error) {
	if object, err := known.object(data); err == nil {
		return object, nil
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		return nil, err
	}
	return object, nil
}

func (known interner) object(data []byte) (map[string]any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data)) // a Buffer is decoded in place
	value, err := known.read(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errNotObject, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	return object, nil
}

// read decodes one value. The decoder limits the nesting.
func (known interner) read(d *jsontext.Decoder) (any, error) {
	switch d.PeekKind() {
	case '{':
		return known.members(d)
	case '[':
		return known.items(d)
	case '"':
		return known.text(d)
	case '0':
		token, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		return whole(token.String())
	}
	token, err := d.ReadToken()
	if err != nil || token.Kind() == 'n' {
		return nil, err
	}
	return token.Bool(), nil
}

func (known interner) members(d *jsontext.Decoder) (any, error) {
	object := map[string]any{}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != '}' {
		name, err := known.text(d)
		if err != nil {
			return nil, err
		}
		if object[name.(string)], err = known.read(d); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func (known interner) items(d *jsontext.Decoder) (any, error) {
	list := []any{}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != ']' {
		item, err := known.read(d)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := d.ReadToken()
	return list, err
}

// text decodes a string, or the name of a member.
func (known interner) text(d *jsontext.Decoder) (any, error) {
	quoted, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	plain := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(plain, '\\') >= 0 {
		plain, err = jsontext.AppendUnquote(nil, quoted)
		return string(plain), err
	}
	if len(plain) > maxWord {
		return string(plain), nil
	}
	if value, ok := known[string(plain)]; ok {
		return value, nil
	}
	word := string(plain)
	known[word] = word
	return known[word], nil
}

// whole returns a number, as an integer if it is written as one.
func whole(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(text, 64)
}
