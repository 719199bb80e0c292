// Package manifest reads Kubernetes objects from files, folders and standard
// input: YAML or JSON, many documents a file, Lists opened up. What a broken
// document hides is that document alone.
package manifest

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/position"
)

// A Document is one object, as kubectl would send it to the server.
type Document struct {
	// File is the path the document came from, "-" for standard input.
	File string
	// Line is the document's first line in the file, from 1.
	Line int
	// JSON is the object. A JSON document is kept byte for byte.
	JSON []byte
	// APIVersion, Kind, Namespace and Name are empty where the document has
	// none; without APIVersion and Kind it is no Kubernetes object.
	APIVersion, Kind, Namespace, Name string

	// Duplicates are the fields that are there twice, where they were tolerated.
	Duplicates []Duplicate

	listPath string // where in a List the object stood, such as "items[2]"
	nested   int    // how many Lists it stood in
	yaml     bool   // whether the file has it in YAML, not in JSON
	at       *position.Source
}

// Position returns the line and column, from 1, of a field path in the file.
// Where the field is absent, its nearest parent stands for it.
func (d *Document) Position(path string) (line, column int) { return d.at.Of(d.inFile(path)) }

// Block returns the first line in the file of the text of a literal block
// scalar, and how far it is indented; ok is false where the field holds none.
func (d *Document) Block(path string) (line, indent int, ok bool) { return d.at.Block(d.inFile(path)) }

// inFile is a path in the object as one in the file's document.
func (d *Document) inFile(path string) string {
	if d.listPath != "" {
		return strings.TrimSuffix(d.listPath+"."+path, ".")
	}
	return path
}

// IsObject says whether the document claims to be a Kubernetes object.
func (d *Document) IsObject() bool { return d.APIVersion != "" && d.Kind != "" }

// String names the object as kubectl does: kind/name, lower case kind.
func (d *Document) String() string {
	return fmt.Sprintf("%s/%s", strings.ToLower(d.Kind), d.Name)
}

// An Error tells what could not be read, and where.
type Error struct {
	File string
	Line int // 0 where the whole file is meant
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
