package template

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/podjson"
)

// Parameterized reports whether the template declares parameters. Its containers and
// other items then have sample values until WithValues replaces them.
func (t *Template) Parameterized() bool { return t.body != nil }

// A LabelError is about values of parameters that a label cannot have.
type LabelError struct {
	Key, Value string
	// Parameters are the indexes of those that are in the value.
	Parameters []int

	wrong string
}

func (e *LabelError) Error() string {
	return fmt.Sprintf("would give the label %s the value %s: %s", e.Key, finding.Quote(e.Value), e.wrong)
}

// WithValues returns the template with the values of its parameters in place. A
// value that a label cannot have is a *LabelError.
func (t *Template) WithValues(values []string) (*Template, error) {
	text, _ := t.body.append(nil, t.Options.Parameters, values)
	bad := &InvalidError{Name: t.Name}
	frag, _ := decodeFragment(text, bad)
	if len(bad.Problems) > 0 {
		return nil, bad
	}
	with := newTemplate(t.Name, text, frag, t.Options)
	with.Revision, with.Version, with.Content, with.OptionsDigest, with.body = t.Revision, t.Version, t.Content, t.OptionsDigest, t.body
	with.Values = make(map[string]string, len(values))
	for i := range values {
		with.Values[t.Options.Parameters[i].Name] = values[i]
	}
	for _, label := range with.Labels {
		if wrong := validation.IsValidLabelValue(label.Value); len(wrong) > 0 {
			return nil, &LabelError{Key: label.Key, Value: label.Value, Parameters: t.parametersOf(label.Key), wrong: strings.Join(wrong, "; ")}
		}
	}
	return with, nil
}

// Samples returns the template without parameters, with values that a pod may have:
// the defaults, and the ends of the types.
func (t *Template) Samples() []*Template {
	if t.body == nil {
		return []*Template{t}
	}
	var samples []*Template
	for _, values := range t.Options.samples() {
		with, err := t.WithValues(values)
		if err != nil {
			continue // Parse found it
		}
		with.body, with.Options.Parameters = nil, nil
		samples = append(samples, with)
	}
	return samples
}

// samples are values of the parameters: the defaults, and the ends of the types.
func (o *Options) samples() [][]string {
	samples := make([][]string, 3)
	for i := range o.Parameters {
		p := &o.Parameters[i]
		samples[0], samples[1], samples[2] = append(samples[0], p.sample()), append(samples[1], p.least()), append(samples[2], p.greatest())
	}
	return samples
}

// FixedLabel reports whether a label has the same value in each pod.
func (t *Template) FixedLabel(key string) bool { return len(t.parametersOf(key)) == 0 }

// parametersOf returns the indexes of the parameters in the value of a label.
func (t *Template) parametersOf(label string) []int {
	return t.body.field("labels").field(label).parameters()
}

// parameters returns the indexes of those in a text.
func (n *node) parameters() []int {
	if n == nil {
		return nil
	}
	var found []int
	for _, s := range n.text {
		if s.param >= 0 {
			found = append(found, s.param)
		}
	}
	return found
}

// VaryingMetadata returns the keys of the labels and annotations whose values differ
// between pods, because parameters are in them.
func (t *Template) VaryingMetadata() (labels, annotations []string) {
	keys := func(list string) []string {
		n := t.body.field(list)
		if n == nil {
			return nil
		}
		var keys []string
		for _, f := range n.fields {
			if len(f.node.parameters()) > 0 {
				keys = append(keys, f.key)
			}
		}
		return keys
	}
	return keys("labels"), keys("annotations")
}

// FixedLabels are the labels that have the same value in each pod. The others select
// no templates: they are known only once the pod has the template.
func (t *Template) FixedLabels() []podjson.Pair {
	if t.body == nil {
		return t.Labels
	}
	return slices.DeleteFunc(slices.Clone(t.Labels), func(p podjson.Pair) bool { return !t.FixedLabel(p.Key) })
}

// ReadsNamespace reports whether a parameter may come from an annotation of the
// namespace.
func (t *Template) ReadsNamespace() bool {
	return slices.ContainsFunc(t.Options.Parameters, func(p Parameter) bool {
		return slices.ContainsFunc(p.From, func(s Source) bool { return s.NamespaceAnnotation != "" })
	})
}

// field returns the node of a field; nil if there is none.
func (n *node) field(key string) *node {
	if n == nil {
		return nil
	}
	at := slices.IndexFunc(n.fields, func(f nodeField) bool { return f.key == key })
	if at < 0 {
		return nil
	}
	return n.fields[at].node
}

// append writes the node with the values of the parameters, and reports whether it
// is dropped instead.
func (n *node) append(b []byte, parameters []Parameter, values []string) (_ []byte, dropped bool) {
	if slices.ContainsFunc(n.omits, func(param int) bool { return parameters[param].IsEmpty(values[param]) }) {
		return b, true
	}
	switch {
	case n.raw != nil:
		return append(b, n.raw...), false
	case n.text != nil && n.place == inNumber:
		return append(b, n.string(parameters, values)...), false
	case n.text != nil:
		b, _ = jsontext.AppendQuote(b, n.string(parameters, values))
		return b, false
	case n.fields != nil:
		b = append(b, '{')
		first := len(b)
		for _, f := range n.fields {
			start := len(b)
			if start > first {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, f.key)
			b = append(b, ':')
			if b, dropped = f.node.append(b, parameters, values); dropped {
				b = b[:start]
			}
		}
		return append(b, '}'), false
	}
	b = append(b, '[')
	return append(n.appendItems(b, len(b), parameters, values), ']'), false
}

// appendItems writes the items of a list that begins at first.
func (n *node) appendItems(b []byte, first int, parameters []Parameter, values []string) []byte {
	if slices.ContainsFunc(n.omits, func(param int) bool { return parameters[param].IsEmpty(values[param]) }) {
		return b
	}
	for _, item := range n.items {
		if item.group {
			b = item.appendItems(b, first, parameters, values)
			continue
		}
		start, dropped := len(b), false
		if start > first {
			b = append(b, ',')
		}
		if b, dropped = item.append(b, parameters, values); dropped {
			b = b[:start]
		}
	}
	return b
}

// string is the text with the values. An empty list takes a comma next to it along.
func (n *node) string(parameters []Parameter, values []string) string {
	var text []byte
	comma := false // skip one
	for i, part := range n.text {
		literal := part.text
		if part.param < 0 {
			if comma {
				literal = literal[1:]
			}
			text, comma = append(text, literal...), false
			continue
		}
		value := values[part.param]
		if value == "" && parameters[part.param].isList() {
			next := ""
			if i+1 < len(n.text) {
				next = n.text[i+1].text
			}
			switch follows := strings.HasPrefix(next, ","); {
			case bytes.HasSuffix(text, []byte(",")) && (follows || i+1 == len(n.text)):
				text = text[:len(text)-1]
			case follows:
				comma = true
			}
			continue
		}
		if n.place == inVariables {
			value = strings.ReplaceAll(value, "$", "$$") // the value, and not what $(NAME) in it stands for
		}
		text = append(text, value...)
	}
	const longest = 63
	if n.place != inLabel || len(text) <= longest {
		return string(text)
	}
	return strings.TrimRight(strings.ToValidUTF8(string(text[:longest]), ""), "-_.")
}
