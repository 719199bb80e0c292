package main

import (
	"bufio"
	"cmp"
	_ "embed" // the page
	"io"
	"strings"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/page"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/policies/transition"
)

//go:embed diff.html
var diffHTML string

var diffPage = page.New(diffHTML)

// The page of a comparison: its objects, the most severe changes first, with the
// rows that Markdown shows, too.
type (
	diffView struct {
		Heading, Counts string
		Effects         []page.Value
		Facets          []*page.Facet
		Objects         []diffObjectView
		Errors, Notes   []string
	}
	diffObjectView struct {
		Kind, Name, Place, Label, Class, Message string
		// Effect, In and Of are indexes of values of the facets.
		Effect, In, Of int
		Rows           []diffRowView
		Omitted        string
		Assumes        string
		Plan           *diffPlanView
		// Template are the lines about a template's effect, Workloads those about each workload.
		Template, Workloads []string
	}
	diffRowView struct {
		diffRow
		Class, Link string
		Changes     []diffChangeView
	}
	diffChangeView struct {
		Path, From, To, Place string
		Values                bool
	}
	diffPlanView struct {
		Steps   []diffPlanStep
		Blocked string
	}
	diffPlanStep struct{ Step, Margin string }
)

// htmlDiff writes the report as a page for people.
func htmlDiff(out io.Writer, r *diffReport) error {
	w := bufio.NewWriter(out)
	if err := diffPage.Write(w, "usher diff", "usher "+cli.Version(), newDiffView(r)); err != nil {
		return err
	}
	return w.Flush()
}

func newDiffView(r *diffReport) *diffView {
	effects := &page.Facet{Key: "effect", Title: "Effect"}
	namespaces := &page.Facet{Key: "ns", Title: "Namespace", ByCount: true}
	kinds := &page.Facet{Key: "kind", Title: "Kind", ByCount: true}
	v := &diffView{Counts: leftOut(r), Errors: r.Errors, Notes: diffNotes(r), Facets: []*page.Facet{effects, namespaces, kinds}}
	for _, o := range r.changed() {
		one := newDiffObjectView(o)
		one.Effect = effects.Add(page.Value{Value: one.Label, Label: one.Label, Class: one.Class})
		one.In = namespaces.Add(page.Value{Value: o.Namespace, Label: cmp.Or(o.Namespace, "(no namespace)")})
		one.Of = kinds.Add(page.Value{Value: o.Kind, Label: o.Kind})
		v.Objects = append(v.Objects, one)
	}
	v.Effects = effects.Values()
	v.Heading = diffHeading(v)
	return v
}

// diffNotes are what the comparison could not take into account.
func diffNotes(r *diffReport) []string {
	if note := files.NotEvaluatedNote(r.NotEvaluated); note != "" {
		return append([]string{note}, r.notes...)
	}
	return r.notes
}

// diffHeading says what the worst is.
func diffHeading(v *diffView) string {
	switch {
	case len(v.Errors) > 0:
		return "The comparison is incomplete"
	case len(v.Objects) == 0:
		return "Nothing changes"
	}
	return "The most severe change: " + v.Objects[0].Label
}

// leftOut counts what the page does not list.
func leftOut(r *diffReport) string {
	var parts []string
	if n := r.Summary[actionUnchanged]; n > 0 {
		parts = append(parts, page.Count(n, "object")+" unchanged")
	}
	if n := r.Summary[actionMissed]; n > 0 {
		parts = append(parts, page.Count(n, "object")+" not compared, because the other side could not be read whole")
	}
	if r.Skipped > 0 {
		parts = append(parts, page.Count(r.Skipped, "document")+" skipped, because usher found no Kubernetes object in them")
	}
	return strings.Join(parts, ", ")
}

func newDiffObjectView(o diffObject) diffObjectView {
	v := diffObjectView{Kind: o.Kind, Name: o.qualifiedName(), Place: position(o.File, o.Line), Label: o.Action, Class: "other"}
	switch o.Action {
	case actionFailed:
		v.Class, v.Message = "failed", o.Error
	case actionUnknown:
		v.Message = "Not compared, because usher knows no transitions of " + o.APIVersion + " " + o.Kind + "."
	}
	if o.Outcome != "" {
		v.Label, v.Class = string(o.Outcome), outcomeClass(o.Outcome)
	}
	for _, row := range o.rows() {
		one := diffRowView{diffRow: row, Class: outcomeClass(row.Outcome)}
		if row.Row != "" {
			one.Link = transitionsPage + "#" + row.Row
		}
		for _, c := range row.Changes {
			change := diffChangeView{Path: c.Path, Place: position(c.File, c.Line), Values: c.From != nil || c.To != nil}
			if change.Values {
				change.From, change.To = values(c.From, c.To)
			}
			one.Changes = append(one.Changes, change)
		}
		v.Rows = append(v.Rows, one)
	}
	if o.Assumes != "" {
		v.Assumes = "assuming that " + o.Assumes + ": the old manifest has no status"
	}
	if o.Omitted > 0 {
		v.Omitted = page.Count(o.Omitted, "more change")
	}
	if o.Template != nil {
		v.Template, v.Workloads = o.Template.summary(), o.Template.lines()
	}
	if o.Plan != nil {
		v.Plan = &diffPlanView{Blocked: o.Plan.Blocked}
		for _, s := range o.Plan.Steps {
			v.Plan.Steps = append(v.Plan.Steps, diffPlanStep{s.Step, margin(s)})
		}
	}
	return v
}

// outcomeClass selects the colour of an outcome.
func outcomeClass(o transition.Outcome) string {
	words := strings.Fields(string(o))
	return words[len(words)-1]
}
