package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/usher-dev/usher/yaml/position"
	"github.com/usher-dev/usher/yaml/strict"
)

var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// A placed error is about a line of the configuration, from 1, or 0 if it is not
// known, and usually about a field.
type placed struct {
	line  int
	field string
	err   error
}

func (p *placed) Error() string {
	switch {
	case p.line == 0:
		return "reading the configuration: " + p.problem()
	case p.field == "":
		return fmt.Sprintf("line %d: %s", p.line, p.problem())
	}
	return fmt.Sprintf("line %d, %s", p.line, p.problem())
}

func (p *placed) Unwrap() error { return p.err }

// problem names the field once.
func (p *placed) problem() string {
	text := p.err.Error()
	if p.field == "" || strings.HasPrefix(text, p.field+" ") {
		return text
	}
	return p.field + ": " + text
}

// locate finds the field and the line for an error: an error of a rule only quotes a
// key or a value.
func locate(document []byte, err error) error {
	var syntax *strict.SyntaxError
	var unknown *strict.UnknownField
	var wrong *strict.WrongType
	var value *strict.WrongValue
	at := func(path string) error {
		line, _ := position.New(document, 1).Of(path)
		return &placed{line, path, err}
	}
	switch {
	case errors.As(err, &syntax):
		return &placed{max(syntax.Line, 1), "", errors.New(syntax.Text)}
	case errors.As(err, &unknown):
		return at(unknown.Path)
	case errors.As(err, &wrong):
		return at(wrong.Path)
	case errors.As(err, &value):
		return at(value.Path)
	}
	var root yaml.Node
	match := quoted.FindStringSubmatch(err.Error())
	if match == nil || yaml.Unmarshal(document, &root) != nil || len(root.Content) == 0 {
		return &placed{0, "", err}
	}
	path, line := find(root.Content[0], "", match[1])
	if line == 0 {
		return &placed{0, "", err}
	}
	return &placed{line, path, err}
}

// find returns the path and the line of the first key or value that is wanted,
// or line 0.
func find(node *yaml.Node, path, wanted string) (string, int) {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Value == wanted {
			return path, node.Line
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, below := node.Content[i], node.Content[i].Value
			if path != "" {
				below = path + "." + below
			}
			if key.Value == wanted {
				return below, key.Line
			}
			if found, line := find(node.Content[i+1], below, wanted); line > 0 {
				return found, line
			}
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			if found, line := find(item, path+"["+strconv.Itoa(i)+"]", wanted); line > 0 {
				return found, line
			}
		}
	}
	return "", 0
}
