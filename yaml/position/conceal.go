package position

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/usher-dev/usher/api/wellknown"
)

type place struct{ line, column int }

// A span is a part of a document whose content is concealed, from a place up to
// another, both from 1.
type span struct{ from, to place }

// lastApplied is the annotation in which kubectl apply keeps the whole manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

var (
	// secretInText matches a Secret in a text that contains a manifest.
	secretInText = regexp.MustCompile(`(?i)\bkind\\*["']?\s*:\s*\\*["']?secret(list)?\b`)
	// variablesInText matches environment variables in such a text.
	variablesInText = regexp.MustCompile(`\benv\\*["']?\s*:`)
)

// hasSecret reports whether a document contains a Secret: as an object, in a
// List, or as text in a field.
func hasSecret(node *yaml.Node) bool {
	switch node.Kind {
	case yaml.ScalarNode:
		return secretInText.MatchString(node.Value)
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			name, value := node.Content[i], target(node.Content[i+1])
			if strings.EqualFold(name.Value, "kind") && isSecret(value.Value) {
				return true
			}
		}
	}
	return slices.ContainsFunc(node.Content, hasSecret)
}

func isSecret(kind string) bool {
	kind = strings.TrimSpace(kind)
	return strings.EqualFold(kind, "Secret") || strings.EqualFold(kind, "SecretList")
}

// target follows an alias.
func target(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// spans returns the places of the values to conceal, in order.
func spans(root *yaml.Node, lines []string) []span {
	c := &concealer{lines: lines, hidden: map[*yaml.Node]bool{}, visited: map[*yaml.Node]bool{}}
	c.collect(root)
	c.measure(root)
	slices.SortFunc(c.found, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from.line, b.from.line), cmp.Compare(a.from.column, b.from.column))
	})
	return c.found
}

// concealer finds the values to conceal in a document.
type concealer struct {
	lines   []string
	hidden  map[*yaml.Node]bool
	visited map[*yaml.Node]bool
	open    *yaml.Node // the hidden node whose end is not known yet
	found   []span
}

// collect finds the nodes to conceal.
func (c *concealer) collect(node *yaml.Node) {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		switch name, value := node.Content[i].Value, target(node.Content[i+1]); {
		case name == lastApplied, strings.HasPrefix(name, wellknown.InjectPrefix) && strings.Contains(name, ".env."):
			c.hide(value)
		case name == "env" && value.Kind == yaml.SequenceNode:
			for _, item := range value.Content {
				c.variable(item)
			}
		case name == "env": // it should be a list
			c.hide(value)
		}
	}
	if node.Kind == yaml.ScalarNode && variablesInText.MatchString(node.Value) {
		c.text(node)
	}
	for _, child := range node.Content {
		c.collect(child)
	}
}

// Confidential reports whether a text contains a manifest with confidential values.
func Confidential(text string) bool {
	return secretInText.MatchString(text) || variablesInText.MatchString(text)
}

// variable hides the value of an environment variable, also under a misspelt name and
// in the mappings that it merges.
func (c *concealer) variable(item *yaml.Node) {
	item = target(item)
	if c.visited[item] {
		return // mappings can merge themselves
	}
	c.visited[item] = true
	if item.Kind == yaml.SequenceNode {
		for _, merged := range item.Content {
			c.variable(merged)
		}
	}
	if item.Kind == yaml.ScalarNode {
		c.hide(item)
	}
	for i := 0; item.Kind == yaml.MappingNode && i+1 < len(item.Content); i += 2 {
		switch name, value := item.Content[i], item.Content[i+1]; {
		case name.Tag == "!!merge":
			c.variable(value)
		case name.Value == "valueFrom":
			c.source(target(value))
		case name.Value != "name":
			c.hide(target(value))
		}
	}
}

// source hides what is not a reference in the source of a variable's value.
func (c *concealer) source(from *yaml.Node) {
	for i := 0; from.Kind == yaml.MappingNode && i+1 < len(from.Content); i += 2 {
		if !strings.HasSuffix(from.Content[i].Value, "Ref") {
			c.hide(target(from.Content[i+1]))
		}
	}
}

func (c *concealer) hide(node *yaml.Node) {
	if node.Value == "" && len(node.Content) == 0 {
		return
	}
	c.hidden[node] = true
}

// text conceals values in a text that contains a manifest, such as a template
// in a ConfigMap: line by line in a literal block, else the whole text.
func (c *concealer) text(node *yaml.Node) {
	var inner yaml.Node
	if node.Style&yaml.LiteralStyle == 0 || yaml.Unmarshal([]byte(node.Value), &inner) != nil || len(inner.Content) != 1 {
		c.hide(node)
		return
	}
	lines := strings.Split(node.Value, "\n")
	indent := 0
	for i, line := range lines {
		if at := node.Line + i; strings.TrimSpace(line) != "" && at < len(c.lines) {
			indent = max(0, strings.Index(c.lines[at], line))
			break
		}
	}
	for _, s := range spans(inner.Content[0], lines) {
		for _, p := range []*place{&s.from, &s.to} {
			p.line += node.Line
			p.column += indent
		}
		c.found = append(c.found, s)
	}
}

// measure walks the nodes in the order of the text: a node ends where the next
// one begins, if not before.
func (c *concealer) measure(root *yaml.Node) {
	c.walk(root, false)
	if c.open != nil {
		c.end(place{len(c.lines) + 1, 1})
	}
}

func (c *concealer) walk(node *yaml.Node, inside bool) {
	if !inside {
		if c.open != nil {
			c.end(place{node.Line, node.Column})
		}
		if c.hidden[node] {
			c.open, inside = node, true
		}
	}
	for _, child := range node.Content {
		c.walk(child, inside)
	}
}

// end adds the span of the open node, which ends before the next node.
func (c *concealer) end(next place) {
	from := place{c.open.Line, c.open.Column}
	to, known := c.sameLine(c.open)
	if !known {
		// Between the two nodes are only spaces, comments and punctuation.
		to = next
		if next.line > from.line && next.line <= len(c.lines) {
			before := []rune(c.lines[next.line-1])
			if strings.Trim(string(before[:min(next.column-1, len(before))]), " \t-?[]{},:\"'") == "" {
				to = place{next.line, 1}
			}
		}
	}
	c.open = nil
	c.found = append(c.found, span{from, to})
}

// sameLine returns the end of a scalar that is written on one line.
func (c *concealer) sameLine(node *yaml.Node) (place, bool) {
	if node.Kind != yaml.ScalarNode || node.Line > len(c.lines) {
		return place{}, false
	}
	runes := []rune(c.lines[node.Line-1])
	rest := string(runes[min(node.Column-1, len(runes)):])
	var end int
	switch {
	case strings.HasPrefix(rest, "'"):
		end = quoted(rest, '\'')
	case strings.HasPrefix(rest, `"`):
		end = quoted(rest, '"')
	case node.Style == 0 && strings.HasPrefix(rest, node.Value):
		end = len(node.Value)
	}
	if end == 0 {
		return place{}, false
	}
	return place{node.Line, node.Column + len([]rune(rest[:end]))}, true
}

// quoted returns the length of a quoted scalar at the beginning of a line, 0 if
// it does not end on the line.
func quoted(text string, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return 0
}
