// Package multus reads and extends the annotation from which Multus reads a
// pod's networks, in both of its forms.
package multus

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Annotation on a pod lists its networks for Multus: names separated by commas,
// or a JSON list of objects.
const Annotation = "k8s.v1.cni.cncf.io/networks"

// A Selection is one NetworkAttachmentDefinition that the annotation names.
type Selection struct {
	// Namespace is "" for the pod's own namespace.
	Namespace string
	Name      string
	// Interface is the name of the interface in the pod, or "" if Multus chooses
	// it.
	Interface string
}

// In reports whether the selection, on a pod in the given namespace, means the
// NetworkAttachmentDefinition namespace/name.
func (s Selection) In(podNamespace, namespace, name string) bool {
	return s.Name == name && cmp.Or(s.Namespace, podNamespace) == namespace
}

// A List is the parsed value of the annotation.
type List struct {
	// Selections are in the order of the value.
	Selections []Selection

	text string
	form form
	// end is the offset at which to insert another selection, after the last.
	end int
}

// form is the notation of a list.
type form int

const (
	none  form = iota // the value is empty
	short             // [namespace/]name[@interface],…
	long              // [{"name": …}, …]
)

// Parse reads the annotation's value. Its error is a predicate.
func Parse(text string) (List, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return List{}, nil
	case strings.ContainsAny(text, `[{"`): // as Multus tells the forms apart
		return parseLong(text)
	}
	return parseShort(text)
}

// Has reports whether the list, on a pod in the given namespace, has the
// NetworkAttachmentDefinition namespace/name.
func (l List) Has(podNamespace, namespace, name string) bool {
	return slices.ContainsFunc(l.Selections, func(s Selection) bool { return s.In(podNamespace, namespace, name) })
}

// With returns the value with namespace/name appended, in the form of the list.
// It keeps every existing byte in order.
func (l List) With(namespace, name string) List {
	item, separator := namespace+"/"+name, ","
	if l.form == long {
		item = string(element(namespace, name))
	}
	if len(l.Selections) == 0 {
		separator = ""
	}
	if l.form == none {
		l.text, l.form, l.end = "", short, 0
	}
	l.Selections = append(slices.Clone(l.Selections), Selection{Namespace: namespace, Name: name})
	l.text = l.text[:l.end] + separator + item + l.text[l.end:]
	l.end += len(separator) + len(item)
	return l
}

// String returns the annotation's value.
func (l List) String() string { return l.text }

func element(namespace, name string) []byte {
	b, _ := jsontext.AppendQuote([]byte(`{"name":`), name)
	b, _ = jsontext.AppendQuote(append(b, `,"namespace":`...), namespace)
	return append(b, '}')
}

// parseShort reads names separated by commas.
func parseShort(text string) (List, error) {
	list := List{text: text, form: short, end: len(text)}
	for item := range strings.SplitSeq(text, ",") {
		namespace, rest, qualified := strings.Cut(strings.TrimSpace(item), "/")
		if !qualified {
			namespace, rest = "", namespace
		}
		name, device, chosen := strings.Cut(rest, "@")
		s := Selection{Namespace: strings.TrimSpace(namespace), Name: strings.TrimSpace(name), Interface: strings.TrimSpace(device)}
		if qualified && s.Namespace == "" || chosen && s.Interface == "" || strings.ContainsAny(s.Interface, "/@") || !s.valid() {
			return List{}, fmt.Errorf("has the item %s, which is not a name of a network: write [namespace/]name[@interface], or a JSON list of objects with a name", quoted(item))
		}
		list.Selections = append(list.Selections, s)
	}
	return list, nil
}

// valid reports whether the names are valid names of objects.
func (s Selection) valid() bool {
	return subdomain.MatchString(s.Name) && len(s.Name) <= 253 && (s.Namespace == "" || subdomain.MatchString(s.Namespace)) && len(s.Namespace) <= 63
}

var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}
