package config

import (
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// locate finds the field and the line for an error: an error of the decoder or
// of a rule only quotes a key or a value.
func locate(document []byte, err error) error {
	var root yaml.Node
	match := quoted.FindStringSubmatch(err.Error())
	if match == nil || yaml.Unmarshal(document, &root) != nil || len(root.Content) == 0 {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	path, line := find(root.Content[0], "", match[1])
	if line == 0 {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	return fmt.Errorf("line %d, %s: %w", line, path, err)
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
