package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/usher-dev/usher/yaml/position"
)

// YAML encodes a JSON value as YAML, with the keys of every object sorted.
// Numbers keep their notation, so that no conversion loses digits or zeros.
// literals, which may be nil, replace the numbers at their places.
func YAML(value []byte, literals Literals) ([]byte, error) {
	w := &yamlWriter{from: jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true)), literals: literals}
	root, err := w.node()
	if err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return out.Bytes(), encoder.Close()
}

// yamlWriter converts JSON to YAML nodes.
type yamlWriter struct {
	from     *jsontext.Decoder
	literals Literals
}

// node reads the next value.
func (w *yamlWriter) node() (*yaml.Node, error) {
	token, err := w.from.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return w.mapping()
	case '[':
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for w.from.PeekKind() != ']' {
			item, err := w.node()
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, item)
		}
		_, err := w.from.ReadToken()
		return list, err
	case '"':
		return text(token.String()), nil
	case '0':
		number := token.String()
		if len(w.literals) > 0 {
			if literal, ok := w.literals[string(w.from.StackPointer())]; ok {
				number = literal
			}
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: number}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: token.String()}, nil // null, true, false
}

func (w *yamlWriter) mapping() (*yaml.Node, error) {
	type field struct {
		name  string
		value *yaml.Node
	}
	var fields []field
	for w.from.PeekKind() != '}' {
		name, err := w.from.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := w.node()
		if err != nil {
			return nil, err
		}
		fields = append(fields, field{key, value})
	}
	if _, err := w.from.ReadToken(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	object := &yaml.Node{Kind: yaml.MappingNode, Content: make([]*yaml.Node, 0, 2*len(fields))}
	for _, f := range fields {
		object.Content = append(object.Content, text(f.name), f.value)
	}
	return object, nil
}

// yaml11 matches plain scalars that readers of YAML 1.1, such as kubectl, do
// not read as strings, in addition to those that the encoder knows: its
// booleans, and numbers of base 60.
var yaml11 = regexp.MustCompile(`^(?i:y|yes|n|no|on|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

// text returns a string, quoted if a reader would misread it.
func text(s string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case yaml11.MatchString(s):
		node.Style = yaml.DoubleQuotedStyle
	case strings.ContainsAny(s, "\r\u0085\u2028\u2029"), strings.Contains(s, "\n") && strings.TrimLeft(s, " \t\n") != s:
		// A block of text would lose a line break of another kind, or the
		// indentation of its first line.
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// Literals are numbers in the notation of YAML that JSON writes differently
// (1.10, 0644, 12345678901234567890123), by their JSON Pointers.
type Literals map[string]string

// number is the beginning of a plain scalar that may be a number.
const number = "+-.0123456789"

// Literals returns the document's numbers that JSON writes differently; nil if
// there are none, and for JSON documents. The error says that the file has changed
// since it was read.
func (d *Document) Literals() (Literals, error) {
	if !d.at.odd {
		return nil, nil
	}
	written := map[string]string{}
	unchanged := d.at.use(func(s *position.Source) {
		s.Plain(d.listPath, func(pointer, text string) {
			if text != "" && strings.Contains(number, text[:1]) {
				written[pointer] = text
			}
		})
	})
	if !unchanged {
		return nil, errors.New("the file has changed while usher read it: run the command again")
	}
	var literals Literals
	from := jsontext.NewDecoder(bytes.NewReader(d.JSON), jsontext.AllowDuplicateNames(true))
	for len(written) > 0 {
		token, err := from.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() != '0' {
			continue
		}
		pointer, value := string(from.StackPointer()), token.String()
		if text, ok := written[pointer]; ok && text != value {
			if literals == nil {
				literals = Literals{}
			}
			literals[pointer] = text
		}
	}
	return literals, nil
}

// InJSON returns a JSON value with the literals in place of the numbers at their
// places, except those that JSON does not have, such as 0644.
func (l Literals) InJSON(value []byte) []byte {
	if len(l) == 0 {
		return value
	}
	var out []byte
	copied := 0
	from := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	for {
		token, err := from.ReadToken()
		if err != nil { // the end
			return append(out, value[copied:]...)
		}
		if token.Kind() != '0' {
			continue
		}
		literal, ok := l[string(from.StackPointer())]
		if end := int(from.InputOffset()); ok && jsontext.Value(literal).IsValid() {
			out = append(append(out, value[copied:end-len(token.String())]...), literal...)
			copied = end
		}
	}
}

// Added shifts the literals after an item was added at a JSON Pointer: those of
// the following items in its list.
func (l Literals) Added(pointer string) { l.shift(pointer, 1) }

// Copied adds the literals of a value that was copied to a place in a list.
func (l Literals) Copied(from, pointer string) {
	copies := Literals{}
	for place, literal := range l {
		if rest, within := strings.CutPrefix(place, from); within && (rest == "" || rest[0] == '/') {
			copies[pointer+rest] = literal
		}
	}
	l.Added(pointer)
	maps.Copy(l, copies)
}

// Removed deletes the literals of a removed value, and shifts those of the following
// items in its list.
func (l Literals) Removed(pointer string) {
	maps.DeleteFunc(l, func(place, _ string) bool {
		rest, within := strings.CutPrefix(place, pointer)
		return within && (rest == "" || rest[0] == '/')
	})
	l.shift(pointer, -1)
}

// shift changes the index of the item at a JSON Pointer, and of those after it.
func (l Literals) shift(pointer string, by int) {
	at := strings.LastIndexByte(pointer, '/')
	index, err := strconv.Atoi(pointer[at+1:])
	if err != nil {
		return
	}
	list, moved := pointer[:at+1], Literals{}
	for place, literal := range l {
		rest, within := strings.CutPrefix(place, list)
		item, field, _ := strings.Cut(rest, "/")
		i, err := strconv.Atoi(item)
		if !within || err != nil || i < index {
			continue
		}
		delete(l, place)
		next := list + strconv.Itoa(i+by)
		if len(item) < len(rest) {
			next += "/" + field
		}
		moved[next] = literal
	}
	maps.Copy(l, moved)
}
