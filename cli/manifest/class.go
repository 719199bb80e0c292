package manifest

import (
	"bytes"
	"regexp"
	"strings"
)

// A Class is what a text is that cannot be read as Kubernetes objects.
type Class int

// The classes of texts.
const (
	// Broken claims to be an object, or its content is not known.
	Broken Class = iota
	// Template becomes an object only when a tool has filled in its placeholders.
	Template
	// Other does not have both an apiVersion and a kind, so no API server reads it.
	Other
)

var (
	// yamlHeader and jsonHeader find the fields that each object has, in texts that do
	// not parse: at the beginning of a line of YAML, anywhere in JSON.
	yamlHeader = [...]*regexp.Regexp{regexp.MustCompile(`(?m)^["']?apiVersion["']?\s*:`), regexp.MustCompile(`(?m)^["']?kind["']?\s*:`)}
	jsonHeader = [...]*regexp.Regexp{regexp.MustCompile(`["']?apiVersion["']?\s*:`), regexp.MustCompile(`["']?kind["']?\s*:`)}
	// action finds what Go's and Jinja's templates execute, placeholder also the
	// variables of envsubst.
	action      = regexp.MustCompile(`\{\{|\{%|<%`)
	placeholder = regexp.MustCompile(`\{\{|\{%|<%|\$\{?[A-Za-z_]`)
)

// classOf returns the class of a text that cannot be parsed.
func classOf(text []byte) Class {
	header := yamlHeader
	if looksLikeJSON(text) {
		header = jsonHeader
	}
	switch {
	case !header[0].Match(text) || !header[1].Match(text):
		return Other
	case action.Match(text):
		return Template
	}
	return Broken
}

// classOfUTF16 is classOf for UTF-16 text.
func classOfUTF16(data []byte) Class {
	return classOf(bytes.TrimLeft(bytes.ReplaceAll(data, []byte{0}, nil), "\xff\xfe"))
}

// HasPlaceholder reports whether a value is yet to be filled in by a template engine or
// by envsubst.
func HasPlaceholder(value string) bool { return placeholder.MatchString(value) }

// IsTemplate reports whether the document parses, but a template engine or envsubst is
// yet to fill in what identifies it. The API server refuses such names.
func (d *Document) IsTemplate() bool {
	return strings.ContainsAny(d.APIVersion+d.Kind+d.Namespace+d.Name, "{$<%") && HasPlaceholder(d.APIVersion+" "+d.Kind+" "+d.Namespace+" "+d.Name)
}
