package migrate

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// YAML renders the configuration with its comments.
func (m *Migration) YAML() ([]byte, error) {
	plain, err := yaml.Marshal(m.Configuration)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", m.Configuration.Name, err)
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(plain, &document); err != nil {
		return nil, fmt.Errorf("rendering %s: %w", m.Configuration.Name, err)
	}
	annotate(&document, "", m.comments)
	var out bytes.Buffer
	enc := yamlv3.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&document); err != nil {
		return nil, fmt.Errorf("rendering %s: %w", m.Configuration.Name, err)
	}
	return out.Bytes(), enc.Close()
}

// annotate puts each comment before the field at its path, and a name before
// the other fields of its list item, as is customary.
func annotate(node *yamlv3.Node, path string, all comments) {
	switch node.Kind {
	case yamlv3.DocumentNode:
		node.HeadComment = wrap(all[""])
		annotate(node.Content[0], "", all)
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			nameFirst(item)
			annotate(item, fmt.Sprintf("%s[%d].", path, i), all)
		}
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			if comment := all[path+key.Value]; comment != "" {
				key.HeadComment = wrap(comment)
			}
			at := path + key.Value
			if value.Kind == yamlv3.MappingNode {
				at += "."
			}
			annotate(value, at, all)
		}
	}
}

func nameFirst(item *yamlv3.Node) {
	if item.Kind != yamlv3.MappingNode {
		return
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		if item.Content[i].Value == "name" {
			pair := []*yamlv3.Node{item.Content[i], item.Content[i+1]}
			copy(item.Content[2:i+2], item.Content[:i])
			copy(item.Content, pair)
			return
		}
	}
}
