package position

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Plain visits the plain scalars, those without quotes, below a field path,
// each with its JSON Pointer from there.
func (s *Source) Plain(path string, visit func(pointer, text string)) {
	if !s.parse() {
		return
	}
	if _, value := locate(s.root, path); value != nil {
		plain(value, "", visit)
	}
}

func plain(node *yaml.Node, at string, visit func(pointer, text string)) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		fields(node, nil, func(name string, value *yaml.Node) {
			plain(value, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), visit)
		})
	case yaml.SequenceNode:
		for i, item := range node.Content {
			plain(item, at+"/"+strconv.Itoa(i), visit)
		}
	case yaml.ScalarNode:
		if node.Style == 0 {
			visit(at, node.Value)
		}
	}
}

// fields visits the fields of a mapping, and those that it merges (<<) and does
// not set itself. known are the visited fields.
func fields(mapping *yaml.Node, known []string, visit func(name string, value *yaml.Node)) []string {
	var merged []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if name.Tag == "!!merge" {
			if value.Kind == yaml.SequenceNode {
				merged = append(merged, value.Content...)
			} else {
				merged = append(merged, value)
			}
			continue
		}
		if !slices.Contains(known, name.Value) {
			known = append(known, name.Value)
			visit(name.Value, value)
		}
	}
	for _, from := range merged {
		for from.Kind == yaml.AliasNode {
			from = from.Alias
		}
		if from.Kind == yaml.MappingNode {
			known = fields(from, known, visit)
		}
	}
	return known
}
