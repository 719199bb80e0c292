package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// overridesMerged reports whether the strict parser refuses a document only because a
// mapping sets a field that it also merges (<<). kubectl accepts that.
func overridesMerged(text []byte, err error) bool {
	if err == nil || !strings.Contains(err.Error(), "already set in map") {
		return false
	}
	var root yaml.Node
	return yaml.Unmarshal(text, &root) == nil && !repeatsKey(&root)
}

// repeatsKey reports whether a mapping contains a key twice.
func repeatsKey(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		keys := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.ScalarNode && keys[key.Value] {
				return true
			}
			keys[key.Value] = true
		}
	}
	for _, child := range n.Content {
		if repeatsKey(child) {
			return true
		}
	}
	return false
}
