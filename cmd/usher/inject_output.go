package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
)

// injected is the result for one document.
type injected struct {
	doc       *manifest.Document
	verdict   *verdict.Verdict // nil if the document is not an object
	result    []byte
	twoWay    []byte
	twoWayErr error
}

// denied reports whether the cluster would deny the object, or its pods.
func (r *injected) denied() bool {
	return r.verdict != nil && (r.verdict.Denied || r.verdict.PodsDenied)
}

// decisions returns the decisions about templates and Networks.
func (r *injected) decisions() []*decision.Decision {
	var taken []*decision.Decision
	if r.verdict == nil {
		return nil
	}
	for _, d := range []*decision.Decision{r.verdict.Injection, r.verdict.Attachment} {
		if d != nil && (len(taken) == 0 || d.Reason != reason.NotAsked) {
			taken = append(taken, d)
		}
	}
	if len(taken) == 2 && taken[0].Reason == reason.NotAsked {
		return taken[1:]
	}
	return taken
}

var injectFormats = []string{"yaml", "json", "patch", "strategic-patch", "text"}

func writeInjected(w io.Writer, format string, results []*injected) error {
	switch format {
	case "json":
		return writeInjectedJSON(w, results)
	case "patch":
		return writePatches(w, results, func(r *injected) []byte { return r.verdict.Changes.JSON() })
	case "strategic-patch":
		return writePatches(w, results, func(r *injected) []byte { return r.twoWay })
	case "text":
		return writeInjectedText(w, results)
	}
	return writeInjectedYAML(w, results)
}

// report writes the decisions to standard error.
func (r *injected) report(w io.Writer) {
	if r.verdict == nil {
		return
	}
	for _, f := range r.verdict.Findings {
		switch {
		case f.Effect == verdict.Warns && f.Rule != ruledocs.TemplateEffect:
			fmt.Fprintf(w, "%s: warning: %s\n", r.where(), f.Message)
		case f.Effect >= verdict.DeniesPods:
			line, _ := r.doc.Position(f.Field)
			fmt.Fprintf(w, "%s:%d: %s: denied: %s\n", r.doc.File, line, r.doc, f.String())
		}
	}
	if r.denied() {
		return
	}
	for _, d := range r.decisions() {
		for _, o := range d.Outcomes {
			fmt.Fprintf(w, "%s: %s\n", r.where(), outcome(o))
		}
	}
	if r.twoWayErr != nil {
		fmt.Fprintf(w, "%s: %v; the JSON Patch is unaffected\n", r.where(), r.twoWayErr)
	}
}

// literals returns the document's numbers as in its YAML, at their places in
// the result.
func (r *injected) literals() manifest.Literals {
	literals := r.doc.Literals()
	if literals == nil || r.verdict == nil {
		return literals
	}
	for _, change := range r.verdict.Changes {
		switch change.Op {
		case "add":
			literals.Added(change.Path)
		case "copy":
			literals.Copied(change.From, change.Path)
		case "remove":
			literals.Removed(change.Path)
		}
	}
	return literals
}

func (r *injected) where() string {
	return fmt.Sprintf("%s:%d: %s", r.doc.File, r.doc.Line, r.doc)
}

func outcome(o decision.Outcome) string {
	text := string(o.Reason)
	if about := cmp.Or(o.Template, o.Network); about != "" {
		text = about + ": " + text
	}
	if o.Source != "" {
		text += " (" + o.Source + ")"
	}
	return text
}

func writeInjectedYAML(w io.Writer, results []*injected) error {
	first := true
	for _, r := range results {
		if r.denied() {
			continue
		}
		text, err := manifest.YAML(r.result, r.literals())
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

// writeInjectedJSON writes one object as is and several as a List, without
// changing the user's values.
func writeInjectedJSON(w io.Writer, results []*injected) error {
	var items []jsontext.Value
	for _, r := range results {
		if !r.denied() {
			items = append(items, r.literals().InJSON(r.result))
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

// writePatches writes one patch per line for each changed object.
func writePatches(w io.Writer, results []*injected, patch func(*injected) []byte) error {
	for _, r := range results {
		if r.verdict == nil || r.denied() || len(r.verdict.Changes) == 0 {
			continue
		}
		// If a two-way merge patch cannot express the change, standard error says so.
		if text := patch(r); text != nil {
			if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeInjectedText writes the steps of each decision.
func writeInjectedText(w io.Writer, results []*injected) error {
	for _, r := range results {
		decisions := r.decisions()
		if len(decisions) == 0 && !r.denied() {
			fmt.Fprintf(w, "%s: has no pod template, passed unchanged\n", r.where())
			continue
		}
		word := "allowed"
		if r.denied() {
			word = "denied"
		}
		fmt.Fprintf(w, "%s: %s, %s\n", r.where(), word, r.verdict.Reason)
		for _, d := range decisions {
			for _, step := range d.Steps {
				fmt.Fprintf(w, "  %s\n", step)
			}
		}
		for _, f := range r.verdict.Findings {
			if f.Effect >= verdict.DeniesPods {
				fmt.Fprintf(w, "  %s\n", f.String())
			}
		}
		for _, op := range r.verdict.Changes {
			sign := "+"
			if op.Op == "remove" {
				sign = "-"
			}
			fmt.Fprintf(w, "  %s %s\n", sign, op.Path)
		}
	}
	return nil
}
