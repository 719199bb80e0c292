// Package manifest reads Kubernetes objects from files, folders and standard
// input: YAML or JSON, with many documents in a file, and with Lists expanded.
// A broken document hides only itself.
package manifest

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/yaml/position"
)

// A Document is one object, as kubectl would send it to the server.
type Document struct {
	// File is the path of the document's file, "-" for standard input.
	File string
	// Line is the document's first line in the file, from 1.
	Line int
	// JSON is the object. A JSON document is kept byte for byte.
	JSON []byte
	// APIVersion, Kind, Namespace and Name are empty if the document does not set
	// them; without APIVersion and Kind it is not a Kubernetes object.
	APIVersion, Kind, Namespace, Name string

	// Unit is the folder, chart or kustomization whose objects are deployed together, and
	// Zone the folder with tests that it is in, "" for none.
	Unit, Zone string
	// Partial is true if the unit may have objects that were not read.
	Partial bool
	// Rendered, if set, converts the places of fields to those in the file that the
	// document was rendered from.
	Rendered Placer

	// Duplicates are the fields that occur twice, if they are tolerated.
	Duplicates []Duplicate

	listPath string // the place of the object in a List, such as "items[2]"
	nested   int    // how many Lists it is nested in
	yaml     bool   // true if it is YAML, not JSON
	at       *fileText
}

// A Placer returns the line and column in the source of a rendered document, given a
// field path, and the line of the field in the rendered text. It returns zeros if it
// cannot tell.
type Placer interface {
	Place(path string, rendered int) (line, column int)
}

// Position returns the line and column, from 1, of a field path in the file. If
// the field is absent, it returns those of its nearest parent. They are 0 if the
// document was rendered from a file that does not have the field.
func (d *Document) Position(path string) (line, column int) {
	if d.Rendered != nil {
		d.at.use(func(s *position.Source) { line, _ = s.Of(d.inFile(path)) })
		return d.Rendered.Place(path, line)
	}
	d.at.use(func(s *position.Source) { line, column = s.Of(d.inFile(path)) })
	return line, column
}

// Block returns the first line in the file of the text of a literal block
// scalar, and its indentation; ok is false if the field does not have one.
func (d *Document) Block(path string) (line, indent int, ok bool) {
	d.at.use(func(s *position.Source) { line, indent, ok = s.Block(d.inFile(path)) })
	return line, indent, ok
}

// Excerpt returns the document's lines around a place in the file, without what
// may be confidential: see position.Source.
func (d *Document) Excerpt(line, column int) (e position.Excerpt) {
	if d.Rendered != nil {
		return e // its text is not that of the file
	}
	d.at.use(func(s *position.Source) { e = s.Excerpt(line, column) })
	return e
}

// inFile converts a path in the object to one in the file's document.
func (d *Document) inFile(path string) string {
	if d.listPath != "" {
		return strings.TrimSuffix(d.listPath+"."+path, ".")
	}
	return path
}

// Forget releases the memory of a document, once the caller has judged it.
func (d *Document) Forget() { d.JSON, d.at = nil, newFileText(nil, d.Line, 0) }

// ForgetText releases the memory of a document's text, which is read again for the
// next position.
func (d *Document) ForgetText() { d.at.forget() }

// InList reports whether the document is an item of a List.
func (d *Document) InList() bool { return d.listPath != "" }

// IsObject reports whether the document claims to be a Kubernetes object.
func (d *Document) IsObject() bool { return d.APIVersion != "" && d.Kind != "" }

// String names the object like kubectl: kind/name, with the kind in lower case.
func (d *Document) String() string {
	return fmt.Sprintf("%s/%s", strings.ToLower(d.Kind), d.Name)
}

// An Error describes what could not be read, and where.
type Error struct {
	File string
	Line int // 0 for the whole file
	Err  error
	// Class is what the text is, whatever the error.
	Class Class
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
