package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/injector"
)

// injected is what became of one document.
type injected struct {
	doc       *manifest.Document
	decision  *injector.Decision // nil where the document holds no pods
	result    []byte
	twoWay    []byte
	twoWayErr error
}

var injectFormats = []string{"yaml", "json", "patch", "strategic-patch", "text"}

func injectWriter(format string) (func(io.Writer, []*injected) error, error) {
	switch format {
	case "yaml":
		return writeInjectedYAML, nil
	case "json":
		return writeInjectedJSON, nil
	case "patch":
		return writePatches(func(r *injected) []byte { return r.decision.Patch.JSON() }), nil
	case "strategic-patch":
		return writePatches(func(r *injected) []byte { return r.twoWay }), nil
	case "text":
		return writeInjectedText, nil
	}
	return nil, fmt.Errorf("--output is %q; write one of %s", format, strings.Join(injectFormats, ", "))
}

// report says on standard error what was decided: nothing happens in silence.
func (r *injected) report(w io.Writer) {
	d := r.decision
	if d == nil {
		return
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(w, "%s: warning: %s\n", r.where(), warning)
	}
	if d.Denied {
		for _, p := range d.Problems {
			line, _ := r.doc.Position(p.Field)
			fmt.Fprintf(w, "%s:%d: %s: denied: %s: %s\n", r.doc.File, line, r.doc, p.Reason, p)
		}
		return
	}
	for _, o := range d.Outcomes {
		fmt.Fprintf(w, "%s: %s\n", r.where(), outcome(o))
	}
	if r.twoWayErr != nil {
		fmt.Fprintf(w, "%s: %v; the JSON Patch stands\n", r.where(), r.twoWayErr)
	}
}

func (r *injected) where() string {
	return fmt.Sprintf("%s:%d: %s", r.doc.File, r.doc.Line, r.doc)
}

func outcome(o injector.Outcome) string {
	text := string(o.Reason)
	if about := cmp.Or(o.Template, o.Network); about != "" {
		text = about + ": " + text
	}
	if o.Source != "" {
		text += " (" + o.Source + ")"
	}
	return text
}

func (r *injected) denied() bool { return r.decision != nil && r.decision.Denied }

func writeInjectedYAML(w io.Writer, results []*injected) error {
	first := true
	for _, r := range results {
		if r.denied() {
			continue
		}
		text, err := yaml.JSONToYAML(r.result)
		if err != nil {
			return fmt.Errorf("%s: %w", r.where(), err)
		}
		if !first {
			fmt.Fprintln(w, "---")
		}
		first = false
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// writeInjectedJSON writes one object as it is and several as a List, with the
// user's values untouched.
func writeInjectedJSON(w io.Writer, results []*injected) error {
	var items []jsontext.Value
	for _, r := range results {
		if !r.denied() {
			items = append(items, r.result)
		}
	}
	var out jsontext.Value
	switch len(items) {
	case 0:
		return nil
	case 1:
		out = append(out, items[0]...)
	default:
		out = append(out, `{"apiVersion":"v1","kind":"List","items":[`...)
		for i, item := range items {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, item...)
		}
		out = append(out, "]}"...)
	}
	return writeIndented(w, out)
}

func writeIndented(w io.Writer, value jsontext.Value) error {
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", value)
	return err
}

// writePatches writes a patch for each object that is changed, one a line.
func writePatches(patch func(*injected) []byte) func(io.Writer, []*injected) error {
	return func(w io.Writer, results []*injected) error {
		for _, r := range results {
			if r.decision == nil || r.denied() || len(r.decision.Patch) == 0 {
				continue
			}
			// Where a two-way merge patch cannot say it, standard error does.
			if text := patch(r); text != nil {
				if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// writeInjectedText tells the path of each decision.
func writeInjectedText(w io.Writer, results []*injected) error {
	for _, r := range results {
		if r.decision == nil {
			fmt.Fprintf(w, "%s: holds no pods, passes unchanged\n", r.where())
			continue
		}
		verdict := "allowed"
		if r.decision.Denied {
			verdict = "denied"
		}
		fmt.Fprintf(w, "%s: %s, %s\n", r.where(), verdict, r.decision.Reason)
		for _, step := range r.decision.Steps {
			fmt.Fprintf(w, "  %s\n", step)
		}
		for _, p := range r.decision.Problems {
			fmt.Fprintf(w, "  %s: %s\n", p.Reason, p)
		}
		for _, op := range r.decision.Patch {
			fmt.Fprintf(w, "  + %s\n", op.Path)
		}
	}
	return nil
}
