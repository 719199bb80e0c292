package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// positions finds lines and columns in a document's text, read once and only
// when a position is asked for.
type positions struct {
	source []byte
	line   int // of the document in its file
	root   *yaml.Node
	read   bool
}

// Position returns the line and column, from 1, of a field path as
// field.Path prints it: "spec.containers[0].image", "metadata.labels[a.b/c]".
// Where the field is absent, its nearest parent stands for it.
func (d *Document) Position(path string) (line, column int) {
	at := d.at
	if !at.read {
		at.read = true
		var doc yaml.Node
		if yaml.Unmarshal(at.source, &doc) == nil && len(doc.Content) == 1 {
			at.root = doc.Content[0]
		}
	}
	if at.root == nil {
		return at.line, 1
	}
	full := path
	if d.listPath != "" {
		full = strings.TrimSuffix(d.listPath+"."+path, ".")
	}
	key, value := locate(at.root, full)
	if key == nil {
		key = value
	}
	return at.line + key.Line - 1, key.Column
}

// locate walks the path and returns the last node found and, in a mapping,
// its key.
func locate(node *yaml.Node, path string) (key, value *yaml.Node) {
	value = node
	for path != "" {
		var step string
		step, path = cutStep(path)
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch value.Kind {
		case yaml.MappingNode:
			found := false
			for i := 0; i+1 < len(value.Content); i += 2 {
				if value.Content[i].Value == step {
					key, value, found = value.Content[i], value.Content[i+1], true
					break
				}
			}
			if !found {
				return key, value
			}
		case yaml.SequenceNode:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(value.Content) {
				return key, value
			}
			key, value = nil, value.Content[i]
		default:
			return key, value
		}
	}
	return key, value
}

// cutStep takes the first step off a field path.
func cutStep(path string) (step, rest string) {
	if strings.HasPrefix(path, "[") {
		end := strings.IndexByte(path, ']')
		if end < 0 {
			return path[1:], ""
		}
		return path[1:end], strings.TrimPrefix(path[end+1:], ".")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	if path[end] == '[' {
		return path[:end], path[end:]
	}
	return path[:end], path[end+1:]
}
