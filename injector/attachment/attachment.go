// Package attachment reads and extends the annotation by which a pod tells
// Multus its networks, in both of the forms that Multus reads.
package attachment

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Annotation is on a pod, and Multus reads it: names separated by commas, or a
// JSON list of objects.
const Annotation = "k8s.v1.cni.cncf.io/networks"

// A Selection is one NetworkAttachmentDefinition that the annotation names.
type Selection struct {
	// Namespace is "" where it is the pod's own.
	Namespace string
	Name      string
	// Interface is the name of the interface in the pod, "" where Multus
	// chooses it.
	Interface string
}

// In says whether the selection, on a pod of that namespace, is of the
// NetworkAttachmentDefinition namespace/name.
func (s Selection) In(podNamespace, namespace, name string) bool {
	return s.Name == name && cmp.Or(s.Namespace, podNamespace) == namespace
}

// A List is the annotation's value, taken apart.
type List struct {
	// Selections are in the order of the value.
	Selections []Selection

	text string
	form form
	// end is where one more is written: behind the last.
	end int
}

// form is how a list is written.
type form int

const (
	none  form = iota // nothing is written yet
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

// Has says whether the list, on a pod of that namespace, has the
// NetworkAttachmentDefinition namespace/name.
func (l List) Has(podNamespace, namespace, name string) bool {
	return slices.ContainsFunc(l.Selections, func(s Selection) bool { return s.In(podNamespace, namespace, name) })
}

// With returns the value with namespace/name behind the others, in the form of
// the list. Every byte that was there stays in its order.
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

// String is the annotation's value.
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
			return List{}, fmt.Errorf("has the item %s, which is no name of a network: write [namespace/]name[@interface], or a JSON list of objects with a name", quoted(item))
		}
		list.Selections = append(list.Selections, s)
	}
	return list, nil
}

// valid says whether the names could be those of objects.
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
