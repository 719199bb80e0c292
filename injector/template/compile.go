package template

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/finding"
)

// A node is a value of the template's text that contains placeholders, or that
// belongs to one that does.
type node struct {
	raw jsontext.Value // of a value without placeholders
	// text is a string with placeholders, and place where it stands.
	text  []segment
	place place
	// items are those of a list, and fields those of an object.
	items  []*node
	fields []nodeField
	// omits are the parameters without whose value the node is dropped.
	omits []int
	// group is true if the node is not an item of a list, but several.
	group bool
}

type nodeField struct {
	key  string
	node *node
}

// A compiler finds the placeholders of a template.
type compiler struct {
	parameters []Parameter
	bad        *InvalidError
	used       []bool
}

// A use is a parameter that a value names, in an item whose path has a length.
type use struct{ param, item int }

// compile returns the node of a value. It reports the problems of placeholders.
func (c *compiler) compile(value jsontext.Value, path []string) (*node, []use) {
	if !strings.Contains(string(value), placeholder) && !mayHoldGroup(value, path) {
		return &node{raw: value}, nil
	}
	n, uses := &node{}, []use(nil)
	add := func(more []use) {
		for _, u := range more {
			if u.item == len(path) && c.parameters[u.param].OmitEmpty {
				n.omits = append(n.omits, u.param)
			}
		}
		uses = append(uses, more...)
	}
	switch value.Kind() {
	case '"':
		var text string
		_ = json.Unmarshal(value, &text) // it is a string
		add(c.text(n, text, path))
		if n.text == nil {
			n.raw = value
		}
	case '[':
		var items []jsontext.Value
		_ = json.Unmarshal(value, &items)
		for i, item := range items {
			at := append(slices.Clone(path), strconv.Itoa(i))
			if isGroup(item, at) {
				group, more := c.group(item, at)
				n.items = append(n.items, group)
				uses = append(uses, more...)
				continue
			}
			child, more := c.compile(item, at)
			n.items = append(n.items, child)
			add(more)
		}
		if n.items == nil {
			n.raw = value
		}
	case '{':
		var fields map[string]jsontext.Value
		_ = json.Unmarshal(value, &fields)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if strings.Contains(key, placeholder) {
				c.bad.add(fieldOf(path), 0, "has a placeholder in the key %s; write it in a value", finding.Quote(key))
			}
			child, more := c.compile(fields[key], append(slices.Clone(path), key))
			n.fields = append(n.fields, nodeField{key, child})
			add(more)
		}
		if n.fields == nil {
			n.raw = value
		}
	}
	return n, uses
}

// isGroup reports whether a value is an object among the arguments of a container: a
// group of them.
func isGroup(value jsontext.Value, path []string) bool {
	return len(path) == 4 && isContainers(path[0]) && path[2] == "args" && value.Kind() == '{'
}

// mayHoldGroup reports whether groups of arguments may be in a value.
func mayHoldGroup(value jsontext.Value, path []string) bool {
	return len(path) <= 4 && (len(path) == 0 || isContainers(path[0])) && (len(path) < 3 || path[2] == "args") &&
		(value.Kind() == '{' || value.Kind() == '[')
}

func isContainers(list string) bool { return list == "containers" || list == "initContainers" }

// group compiles arguments that are dropped together.
func (c *compiler) group(value jsontext.Value, path []string) (*node, []use) {
	var group struct {
		OmitEmpty string           `json:"omitEmpty"`
		Args      []jsontext.Value `json:"args"`
	}
	n := &node{group: true}
	if err := json.Unmarshal(value, &group, json.RejectUnknownMembers(true)); err != nil || group.OmitEmpty == "" || len(group.Args) == 0 {
		c.bad.add(fieldOf(path), 0, "is not a text; write the text, or a group of arguments that are dropped together, with omitEmpty: NAME of a parameter and args")
		return n, nil
	}
	at := slices.IndexFunc(c.parameters, func(p Parameter) bool { return p.Name == group.OmitEmpty })
	if at < 0 {
		c.bad.add(fieldOf(path)+".omitEmpty", 0, "names the parameter %s, which options.parameters does not declare; %s", finding.Quote(group.OmitEmpty), declared(c.parameters))
		return n, nil
	}
	c.used[at] = true
	n.omits = []int{at}
	var uses []use
	for i, item := range group.Args {
		at := append(slices.Clone(path), "args", strconv.Itoa(i))
		if item.Kind() != '"' {
			c.bad.add(fieldOf(at), 0, "is not a text")
			continue
		}
		child, more := c.compile(item, at)
		n.items, uses = append(n.items, child), append(uses, more...)
	}
	return n, uses
}

// text compiles a string, and checks that its parameters can stand there.
func (c *compiler) text(n *node, text string, path []string) []use {
	parts, err := segments(text, c.parameters)
	if err != nil {
		c.bad.add(fieldOf(path), 0, "%s", err)
		return nil
	}
	at, item := placeOf(path)
	n.text, n.place = parts, at
	var uses []use
	for i, part := range parts {
		if part.param < 0 {
			continue
		}
		c.used[part.param] = true
		p := &c.parameters[part.param]
		field := ""
		if len(path) > 0 {
			field = path[len(path)-1]
		}
		if wrong := c.misplaced(p, at, parts, i, field); wrong != "" {
			c.bad.add(fieldOf(path), 0, "%s", wrong)
		}
		uses = append(uses, use{part.param, item})
	}
	return uses
}

// misplaced says why a parameter cannot stand in a place; "" if it can.
func (c *compiler) misplaced(p *Parameter, at place, parts []segment, i int, field string) string {
	whole := len(parts) == 1
	unlimited := p.unlimited()
	switch at {
	case nowhere:
		return fmt.Sprintf("names the parameter %s; parameters can stand only in args, command, values of env, labels and annotations, image, resources, ports, probes and lifecycle hooks", p.Name)
	case inLabel:
		if p.Type == TypePorts || p.Type == TypeCIDRs || p.Type == TypeImage {
			return fmt.Sprintf("names the parameter %s of the type %s, whose values a label cannot have", p.Name, p.Type)
		}
		return "" // a text is cut
	case inQuantity:
		if !whole || p.Type != TypeQuantity {
			return fmt.Sprintf("names the parameter %s of the type %s; write %s%s} with nothing before or after it, and give the parameter the type quantity", p.Name, p.Type, placeholder, p.Name)
		}
	case inNumber:
		if !whole || p.Type != TypeInt {
			return fmt.Sprintf("names the parameter %s of the type %s; write %s%s} with nothing before or after it, and give the parameter the type int", p.Name, p.Type, placeholder, p.Name)
		}
		return outside(p, numbers[field])
	case inImage:
		if p.OmitEmpty {
			return fmt.Sprintf("names the parameter %s, and a container cannot do without an image; remove omitEmpty from the parameter, and give it a default", p.Name)
		}
		if whole && p.Type == TypeImage {
			return ""
		}
		return inTag(p, parts, i)
	}
	if unlimited {
		return fmt.Sprintf("names the parameter %s, whose text has no limit; give it a pattern or maxLength", p.Name)
	}
	return ""
}

// outside says which value of a number a field cannot have.
func outside(p *Parameter, limits [2]int64) string {
	values := []string{p.example(false), p.example(true)}
	if p.Default != nil && *p.Default != "" {
		values = append(values, string(*p.Default))
	}
	for _, value := range values {
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < limits[0] || n > limits[1] {
			return fmt.Sprintf("can be %s, according to the parameter %s, and must be from %d to %d; give the parameter such a default, min and max", value, p.Name, limits[0], limits[1])
		}
	}
	return ""
}

// inTag says why a parameter cannot be part of an image: only an enum, whose values
// the author of the template knows, may be more than its tag.
func inTag(p *Parameter, parts []segment, i int) string {
	before := ""
	for _, part := range parts[:i] {
		if part.param >= 0 {
			before += "x"
		}
		before += part.text
	}
	name := before[strings.LastIndexByte(before, '/')+1:]
	tag := strings.Contains(name, ":") && !strings.Contains(name, "@")
	switch {
	case p.Type == TypeEnum, tag && (p.Type == TypeInt || p.Type == TypeBool):
		return ""
	case tag && p.Type == TypeString && !p.unlimited():
		p.inTag = true
		return ""
	case tag && p.Type == TypeString:
		return fmt.Sprintf("names the parameter %s, whose text has no limit; give it a pattern or maxLength", p.Name)
	}
	return fmt.Sprintf("names the parameter %s of the type %s; write a parameter of the type image with nothing before or after it, or only the tag as a string", p.Name, p.Type)
}

// compile finds the placeholders of a template's canonical text. It returns nil if
// there are problems.
func compile(canonical jsontext.Value, options *Options, bad *InvalidError) *node {
	before := len(bad.Problems)
	c := &compiler{parameters: options.Parameters, bad: bad, used: make([]bool, len(options.Parameters))}
	body, _ := c.compile(canonical, nil)
	for i, used := range c.used {
		p, field := &c.parameters[i], fmt.Sprintf("%s[%d]", parametersField, i)
		switch {
		case !used:
			bad.add(field, 0, "is the parameter %s, which the template does not use; write %s%s} in data.config, or remove the parameter", p.Name, placeholder, p.Name)
		case p.inTag && p.Default != nil && !tag.MatchString(string(*p.Default)):
			bad.add(field+".default", 0, "is %s, which cannot be part of an image's tag", finding.Quote(string(*p.Default)))
		}
	}
	if len(bad.Problems) > before || bad.more {
		return nil
	}
	return body
}
