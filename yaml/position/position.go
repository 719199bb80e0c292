// Package position finds the line and column of a field path in YAML or JSON.
package position

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Source is the text of one document. It is parsed when the first position is
// requested.
type Source struct {
	text []byte
	line int
	root *yaml.Node
	read bool
	open *opened
}

// New returns the positions of a document that begins at a line, from 1, of
// its file.
func New(text []byte, line int) *Source {
	return &Source{text: text, line: line}
}

// Text is the document's text.
func (s *Source) Text() []byte { return s.text }

// Of returns the line and column, from 1, of a field path as field.Path prints
// it: "spec.containers[0].image", "metadata.labels[a.b/c]". If the field is
// absent, it returns those of its nearest parent.
func (s *Source) Of(path string) (line, column int) {
	if !s.parse() {
		return s.line, 1
	}
	node, _ := locate(s.root, path)
	return s.line + node.Line - 1, node.Column
}

// Block returns where the text of a literal block scalar (|) begins: its first
// line, and the indentation of every line in columns. ok is false if the field
// does not have one: the text of other scalars is not in the file line by line.
func (s *Source) Block(path string) (line, indent int, ok bool) {
	if !s.parse() {
		return 0, 0, false
	}
	_, value := locate(s.root, path)
	if value == nil || value.Kind != yaml.ScalarNode || value.Style&yaml.LiteralStyle == 0 {
		return 0, 0, false
	}
	written := strings.Split(string(s.text), "\n")
	for i, text := range strings.Split(value.Value, "\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if at := value.Line + i; at < len(written) {
			indent = max(0, strings.Index(written[at], text))
		}
		break
	}
	return s.line + value.Line, indent, true
}

// parse parses the text, once, and reports whether it succeeded.
func (s *Source) parse() bool {
	if !s.read {
		s.read = true
		var doc yaml.Node
		if yaml.Unmarshal(s.text, &doc) == nil && len(doc.Content) == 1 {
			s.root = doc.Content[0]
		}
	}
	return s.root != nil
}

// locate walks the path and returns the last node found (in a mapping its key)
// and the value at the end of the path, or nil.
func locate(value *yaml.Node, path string) (found, end *yaml.Node) {
	found = value
	for step := range Steps(path) {
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch value.Kind {
		case yaml.MappingNode:
			i := key(value, step)
			if i < 0 {
				return found, nil
			}
			found, value = value.Content[i], value.Content[i+1]
		case yaml.SequenceNode:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(value.Content) {
				return found, nil
			}
			value = value.Content[i]
			found = value
		default:
			return found, nil
		}
	}
	return found, value
}

func key(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return i
		}
	}
	return -1
}
