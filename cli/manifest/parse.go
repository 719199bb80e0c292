package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/yaml/syntax"
)

// Parse parses every document in a file's content. A duplicate field is an
// error.
func Parse(file string, data []byte) ([]*Document, []error) { return parse(file, data, false) }

// ParseTolerant is Parse for callers that report duplicate fields themselves.
func ParseTolerant(file string, data []byte) ([]*Document, []error) { return parse(file, data, true) }

// parse parses documents; tolerates allows duplicate fields.
func parse(file string, data []byte, tolerates bool) ([]*Document, []error) {
	size := len(data)
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // byte order mark
	before := size - len(data)
	var docs []*Document
	var errs []error
	for _, part := range split(data) {
		part.offset += before
		if blank(part.text) {
			continue
		}
		if looksLikeJSON(part.text) {
			if d, e, ok := parseJSON(file, part, tolerates); ok {
				docs, errs = append(docs, d...), append(errs, e...)
				continue
			}
		}
		d, e := parseYAML(file, part, tolerates)
		docs, errs = append(docs, d...), append(errs, e...)
	}
	return docs, errs
}

// parseYAML parses one document.
func parseYAML(file string, part part, tolerates bool) ([]*Document, []error) {
	value, err := yaml.YAMLToJSONStrict(part.text)
	if overridesMerged(part.text, err) {
		value, err = yaml.YAMLToJSON(part.text)
	}
	var twice []Duplicate
	if err != nil && tolerates {
		if again, duplicates, ok := tolerant(part.line, part.text, err); ok {
			value, twice, err = again, duplicates, nil
		}
	}
	if err != nil {
		errs := slashComments(file, part.line, part.text)
		if len(errs) == 0 {
			errs = []error{yamlError(file, part, err)}
		}
		return nil, classified(errs, part.text)
	}
	if string(value) == "null" {
		return nil, nil
	}
	at := newFileText(part.text, part.line, part.offset)
	at.odd = hasOddNumber(part.text)
	docs, errs := newDocuments(file, part.line, value, at)
	for _, d := range docs {
		d.yaml = true
	}
	if len(docs) > 0 {
		docs[0].Duplicates = twice
	}
	return docs, errs
}

// classified sets the class of the errors about a text.
func classified(errs []error, text []byte) []error {
	class := classOf(text)
	for _, err := range errs {
		var e *Error
		if errors.As(err, &e) {
			e.Class = class
		}
	}
	return errs
}

func looksLikeJSON(data []byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[')
}

// parseJSON parses concatenated JSON values. ok is false if the first one is
// invalid: YAML's flow style looks similar.
func parseJSON(file string, part part, tolerates bool) (docs []*Document, errs []error, ok bool) {
	data := part.text
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(tolerates))
	line, counted := part.line, 0
	lineAt := func(offset int) int {
		line += bytes.Count(data[counted:offset], []byte("\n"))
		counted = offset
		return line
	}
	for {
		value, err := dec.ReadValue()
		if errors.Is(err, io.EOF) {
			return docs, errs, true
		}
		end := int(dec.InputOffset())
		if err != nil {
			if len(docs) == 0 && !errors.Is(err, jsontext.ErrDuplicateName) {
				return nil, nil, false
			}
			var syntax *jsontext.SyntacticError
			if errors.As(err, &syntax) {
				end = min(max(end, int(syntax.ByteOffset)), len(data))
			}
			return docs, append(errs, &Error{File: file, Line: lineAt(end), Err: fmt.Errorf("JSON: %w", err), Class: classOf(data)}), true
		}
		first := lineAt(end - len(value))
		source := bytes.Clone(value)
		value, twice := source, []Duplicate(nil)
		if tolerates && !jsontext.Value(source).IsValid() {
			value, twice, err = deduplicated(source)
		}
		if err != nil {
			errs = append(errs, &Error{File: file, Line: first, Err: err})
			continue
		}
		d, e := newDocuments(file, first, value, newFileText(source, first, 0))
		if len(d) > 0 {
			d[0].Duplicates = twice
		}
		docs, errs = append(docs, d...), append(errs, e...)
	}
}

// header is the part of a document that identifies it.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
	Items jsontext.Value `json:"items"`
}

func newDocuments(file string, line int, value []byte, at *fileText) ([]*Document, []error) {
	return open(&Document{File: file, Line: line, JSON: value, at: at}, header{})
}

// open sets the document's header, or returns the objects of a List. parent
// provides the kind for the items of a typed List (PodList), which do not have
// one.
func open(doc *Document, parent header) ([]*Document, []error) {
	var h header
	// Without a valid header it is still a document of an unknown kind, and the
	// verdict reports what is wrong with it.
	if err := json.Unmarshal(doc.JSON, &h); err != nil {
		h = looseHeader(doc.JSON)
	}
	if item, ok := strings.CutSuffix(parent.Kind, "List"); ok && item != "" && h.Kind == "" && h.APIVersion == "" {
		h.Kind, h.APIVersion = item, parent.APIVersion
		doc.JSON = withHeader(doc.JSON, h)
	}
	if strings.HasSuffix(h.Kind, "List") && h.APIVersion != "" && h.Items.Kind() == '[' {
		return openList(doc, h)
	}
	doc.APIVersion, doc.Kind = h.APIVersion, h.Kind
	doc.Namespace, doc.Name = h.Metadata.Namespace, h.Metadata.Name
	if doc.Name == "" && h.Metadata.GenerateName != "" {
		doc.Name = h.Metadata.GenerateName + "*"
	}
	return []*Document{doc}, nil
}

// looseHeader parses the readable parts of a header with wrong types.
func looseHeader(value []byte) header {
	var h header
	var fields map[string]jsontext.Value
	if json.Unmarshal(value, &fields) != nil {
		return h
	}
	_ = json.Unmarshal(fields["apiVersion"], &h.APIVersion)
	_ = json.Unmarshal(fields["kind"], &h.Kind)
	var meta map[string]jsontext.Value
	if json.Unmarshal(fields["metadata"], &meta) == nil {
		_ = json.Unmarshal(meta["name"], &h.Metadata.Name)
		_ = json.Unmarshal(meta["namespace"], &h.Metadata.Namespace)
	}
	return h
}

// withHeader puts apiVersion and kind before the other fields.
func withHeader(value []byte, h header) []byte {
	rest := bytes.TrimLeft(value, " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' {
		return value
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	out := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q`, h.APIVersion, h.Kind)
	if rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// A part is a document in a file.
type part struct {
	line, offset int // of its text, which begins in line 1 at 0
	text         []byte
}

// split splits YAML at its document markers and counts lines.
func split(data []byte) []part {
	var parts []part
	current := part{line: 1}
	start, line := 0, 1
	for offset := 0; offset < len(data); line++ {
		end := bytes.IndexByte(data[offset:], '\n')
		next := offset + end + 1
		if end < 0 {
			next = len(data)
		}
		if isMarker(data[offset:next]) {
			current.text = data[start:offset]
			parts = append(parts, current)
			// Text after the marker on its line belongs to the document.
			start = offset + len("---")
			current = part{line: line, offset: start}
		}
		offset = next
	}
	current.text = data[start:]
	return append(parts, current)
}

func isMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n')
}

// blank reports whether a document contains only comments.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// yamlError converts the parser's line in the document to one in the file, and
// explains what the parser can only describe as a character.
func yamlError(file string, part part, err error) error {
	line, text := syntax.Explain(err)
	line = part.line + max(line, 1) - 1
	if at, cause := misread(part, line, err.Error()); at > 0 {
		line, text = at, cause
	}
	return &Error{File: file, Line: line, Err: fmt.Errorf("YAML: %s", text)}
}
