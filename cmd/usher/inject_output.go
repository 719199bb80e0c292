package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
)

// injected is what is written about one document.
type injected struct {
	// report is for standard error, text for the result: a part of it in the format.
	report, text []byte
	denied       bool
	err          error
}

// judged is the result for one document.
type judged struct {
	doc       *manifest.Document
	verdict   *verdict.Verdict // nil if the document is not an object
	result    []byte
	twoWay    []byte
	twoWayErr error
}

// denied reports whether the cluster would deny the object, or its pods.
func (r *judged) denied() bool {
	return r.verdict != nil && (r.verdict.Denied || r.verdict.PodsDenied)
}

// decisions returns the decisions about templates and Networks.
func (r *judged) decisions() []*decision.Decision {
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

// strategicPatch is the format of two-way merge patches.
const strategicPatch = "strategic-patch"

// render renders the document's part of the result.
func (r *judged) render(format string) ([]byte, error) {
	switch {
	case format == "text":
		return r.steps(), nil
	case r.denied():
		return nil, nil
	case format == "patch", format == strategicPatch:
		return r.patch(format), nil
	case format == "json":
		literals, err := r.literals()
		if err != nil {
			return nil, err
		}
		return literals.InJSON(r.result), nil
	}
	literals, err := r.literals()
	if err != nil {
		return nil, err
	}
	text, err := manifest.YAML(r.result, literals)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.where(), err)
	}
	return text, nil
}

// patch returns the patch of a changed object, on one line. If a two-way merge patch
// cannot express the change, standard error says so.
func (r *judged) patch(format string) []byte {
	if r.verdict == nil || len(r.verdict.Changes) == 0 {
		return nil
	}
	patch := r.twoWay
	if format == "patch" {
		patch = r.verdict.Changes.JSON()
	}
	if patch == nil {
		return nil
	}
	return append(slices.Clip(patch), '\n')
}

// report writes the decisions to standard error.
func (r *judged) report(w io.Writer) {
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
func (r *judged) literals() (manifest.Literals, error) {
	literals, err := r.doc.Literals()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.where(), err)
	}
	if literals == nil || r.verdict == nil {
		return literals, nil
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
	return literals, nil
}

func (r *judged) where() string {
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

// steps describes the steps of each decision.
func (r *judged) steps() []byte {
	var w bytes.Buffer
	decisions := r.decisions()
	if len(decisions) == 0 && !r.denied() {
		fmt.Fprintf(&w, "%s: has no pod template, passed unchanged\n", r.where())
		return w.Bytes()
	}
	word := "allowed"
	if r.denied() {
		word = "denied"
	}
	fmt.Fprintf(&w, "%s: %s, %s\n", r.where(), word, r.verdict.Reason)
	for _, d := range decisions {
		for _, step := range d.Steps {
			fmt.Fprintf(&w, "  %s\n", step)
		}
	}
	for _, f := range r.verdict.Findings {
		if f.Effect >= verdict.DeniesPods {
			fmt.Fprintf(&w, "  %s\n", f.String())
		}
	}
	for _, op := range r.verdict.Changes {
		sign := "+"
		if op.Op == "remove" {
			sign = "-"
		}
		fmt.Fprintf(&w, "  %s %s\n", sign, op.Path)
	}
	return w.Bytes()
}
