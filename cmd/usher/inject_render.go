package main

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A renderer joins the parts of a result.
type renderer struct {
	w      io.Writer
	format string
	parts  int
	// first is the first object in JSON: the renderer writes a single object without a
	// List.
	first jsontext.Value
}

func newRenderer(format string, w io.Writer) *renderer { return &renderer{w: w, format: format} }

// add writes a part of the result; an empty one stands for nothing.
func (r *renderer) add(part []byte) error {
	if len(part) == 0 {
		return nil
	}
	r.parts++
	switch {
	case r.format == "json":
		return r.item(part)
	case r.format == "yaml" && r.parts > 1:
		if _, err := io.WriteString(r.w, "---\n"); err != nil {
			return err
		}
	}
	_, err := r.w.Write(part)
	return err
}

// item writes an object as an item of a List, once there are several.
func (r *renderer) item(object jsontext.Value) error {
	switch r.parts {
	case 1:
		r.first = object
		return nil
	case 2:
		if _, err := io.WriteString(r.w, "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [\n    "); err != nil {
			return err
		}
		if err := r.indented(r.first, "    "); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(r.w, ",\n    "); err != nil {
		return err
	}
	return r.indented(object, "    ")
}

// indented writes an object without changing its values.
func (r *renderer) indented(object jsontext.Value, prefix string) error {
	if err := object.Indent(jsontext.WithIndentPrefix(prefix), jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := r.w.Write(object)
	return err
}

// end writes what follows the last part.
func (r *renderer) end() error {
	switch {
	case r.format != "json" || r.parts == 0:
		return nil
	case r.parts == 1:
		if err := r.indented(r.first, ""); err != nil {
			return err
		}
		_, err := io.WriteString(r.w, "\n")
		return err
	}
	_, err := io.WriteString(r.w, "\n  ]\n}\n")
	return err
}
