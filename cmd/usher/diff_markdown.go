package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/usher-dev/usher/cli/markdown"
)

// markdownDiff writes the report as a comment for a review: a summary, a table
// with the most severe changes first, and the steps of each object to unfold.
func markdownDiff(w io.Writer, r *diffReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**usher diff: %s**\n", markdown.Prose(r.summary()))
	if len(r.Errors) > 0 {
		b.WriteString("\nusher could not read all input, and compares only objects of which it read both sides:\n\n")
	}
	for _, text := range r.Errors {
		fmt.Fprintf(&b, "- %s\n", markdown.Code(text))
	}
	objects := r.changed()
	if len(objects) > 0 {
		b.WriteString("\n| object | change | effect | by |\n|---|---|---|---|\n")
	}
	for _, o := range objects {
		markdownRows(&b, o)
	}
	for _, o := range objects {
		markdownSteps(&b, o)
		if o.Template != nil {
			o.Template.markdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownRows writes the object's rows of the table: one for the changes that
// have the same effect.
func markdownRows(b *strings.Builder, o diffObject) {
	object := markdown.Prose(o.Kind) + " " + markdown.Code(o.qualifiedName())
	row := func(change, effect, by string) { fmt.Fprintf(b, "| %s | %s | %s | %s |\n", object, change, effect, by) }
	switch o.Action {
	case actionChanged:
	case actionFailed:
		row(place(o.File, o.Line), "**"+o.Action+"**: "+markdown.Code(o.Error), "")
		return
	case actionUnknown:
		row("", "not compared, because usher knows no transitions of "+markdown.Code(o.APIVersion), "")
		return
	default:
		if row("", o.Action, ""); len(o.Changes) == 0 {
			return
		}
	}
	if len(o.Changes) == 0 {
		row("", "**"+string(o.Outcome)+"**", "")
	}
	for _, r := range o.rows() {
		var lines []string
		for _, c := range r.Changes {
			line := markdown.Code(c.Path)
			if c.From != nil || c.To != nil {
				from, to := values(c.From, c.To)
				line += ": " + markdown.Code(from) + " → " + markdown.Code(to)
			}
			if c.Path == "" { // it is about the whole object
				line = place(c.File, c.Line)
			} else {
				line += "<br>" + place(c.File, c.Line)
			}
			lines = append(lines, line)
		}
		effect := "**" + string(r.Outcome) + "**"
		if of := r.Of(); of != "" {
			effect += " " + of
		}
		if r.Row != "" {
			effect += fmt.Sprintf(" ([%s](%s#%s))", r.Row, transitionsPage, r.Row)
		}
		switch {
		case r.Quoted && r.Harm != "":
			effect += ": " + markdown.Code(r.Harm)
		case r.Harm != "":
			effect += ": " + markdown.Prose(r.Harm)
		}
		by := markdown.Prose(r.By)
		if r.Where != "" {
			by += fmt.Sprintf(", where `%s` is enforced", r.Where)
		}
		row(strings.Join(lines, "<br>"), effect, by)
	}
	if o.Assumes != "" {
		row("", "assuming that "+markdown.Prose(o.Assumes)+": the old manifest has no status", "")
	}
	if o.Omitted > 0 {
		row(fmt.Sprintf("and %d more changes", o.Omitted), "", "")
	}
}

// place is a position in a file.
func place(file string, line int) string { return markdown.Code(position(file, line)) }

// markdownSteps writes the steps around the changes of an object, and its plan.
func markdownSteps(b *strings.Builder, o diffObject) {
	var steps strings.Builder
	for _, r := range o.rows() {
		if len(r.Steps) == 0 {
			continue
		}
		fmt.Fprintf(&steps, "\n%s:\n\n", markdown.Code(r.Path()))
		for n, step := range r.Steps {
			number := fmt.Sprintf("%d. ", n+1)
			indent := strings.Repeat(" ", len(number))
			steps.WriteString(number)
			if step.Text != "" {
				fmt.Fprintf(&steps, "%s\n", markdown.Prose(step.Text))
			}
			if step.Command != "" && step.Text != "" {
				steps.WriteString("\n" + indent)
			}
			if step.Command != "" {
				steps.WriteString(markdown.Fenced(step.Command, indent))
			}
		}
	}
	if p := o.Plan; p != nil {
		if len(p.Steps) > 0 {
			steps.WriteString("\nThe controller's steps, if all goes well; the margin is how many more voters may fail:\n\n")
		}
		for n, s := range p.Steps {
			fmt.Fprintf(&steps, "%d. %s (%s)\n", n+1, markdown.Prose(s.Step), margin(s))
		}
		if p.Blocked != "" {
			fmt.Fprintf(&steps, "\nIncomplete: %s\n", markdown.Prose(p.Blocked))
		}
	}
	if steps.Len() > 0 {
		fmt.Fprintf(b, "\n<details><summary>Steps for %s <code>%s</code></summary>\n%s\n</details>\n", markdown.HTML(o.Kind), markdown.HTML(o.qualifiedName()), steps.String())
	}
}
