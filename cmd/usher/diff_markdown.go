package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cmd/usher/markdown"
	"github.com/usher-dev/usher/policies/transition"
)

// transitionsPage is the document that describes each row of the table.
const transitionsPage = "https://github.com/usher-dev/usher/blob/main/docs/transitions.md"

// markdownDiff writes the report as a comment for a review: a summary, a table
// with the most severe changes first, and the steps of each object to unfold.
func markdownDiff(w io.Writer, r *diffReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**usher diff: %s**\n", markdown.Prose(r.summary()))
	objects := slices.DeleteFunc(slices.Clone(r.Objects), func(o diffObject) bool { return o.Action == actionUnchanged })
	slices.SortStableFunc(objects, func(x, y diffObject) int { return cmp.Compare(y.severity(), x.severity()) })
	if len(r.Errors) > 0 {
		b.WriteString("\nusher could not read all input, and compares only objects of which it read both sides:\n\n")
	}
	for _, text := range r.Errors {
		fmt.Fprintf(&b, "- %s\n", markdown.Code(text))
	}
	if len(objects) > 0 {
		b.WriteString("\n| object | change | effect | by |\n|---|---|---|---|\n")
	}
	for _, o := range objects {
		markdownRows(&b, o)
	}
	for _, o := range objects {
		markdownSteps(&b, o)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// severity orders objects: first those that cannot be compared, then by outcome.
func (o diffObject) severity() int {
	switch o.Action {
	case actionFailed:
		return len(transition.Outcomes()) + 2
	case actionChanged:
		return slices.Index(append(transition.Outcomes(), transition.Unknown), o.Outcome) + 1
	}
	return 0
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
		row("", o.Action, "")
		return
	}
	for _, group := range groups(o.Changes) {
		var lines []string
		for _, c := range group {
			line := markdown.Code(c.Path)
			if c.From != nil || c.To != nil {
				from, to := values(c.From, c.To)
				line += ": " + markdown.Code(from) + " → " + markdown.Code(to)
			}
			lines = append(lines, line, place(c.File, c.Line))
		}
		c := group[len(group)-1]
		effect := "**" + string(c.Outcome) + "**"
		if c.Row != "" {
			effect += fmt.Sprintf(" ([%s](%s#%s))", c.Row, transitionsPage, c.Row)
		}
		switch {
		case c.Harm != "" && c.Row == "" && c.RefusedBy == transition.Server:
			effect += ": " + markdown.Code(c.Harm) // the server's message quotes the user's values
		case c.Harm != "":
			effect += ": " + markdown.Prose(c.Harm)
		}
		row(strings.Join(lines, "<br>"), effect, causer(o.Kind, c.Change))
	}
	if o.Assumes != "" {
		row("", "assuming that "+markdown.Prose(o.Assumes)+": the old manifest has no status", "")
	}
	if o.Omitted > 0 {
		row(fmt.Sprintf("and %d more changes", o.Omitted), "", "")
	}
}

// place is a position in a file.
func place(file string, line int) string {
	if line == 0 {
		return markdown.Code(file)
	}
	return markdown.Code(fmt.Sprintf("%s:%d", file, line))
}

// causer names the component that refuses a change, or carries it out.
func causer(kind string, c transition.Change) string {
	switch {
	case c.Outcome == transition.Unknown:
		return "perhaps refused by " + string(c.RefusedBy)
	case c.RefusedBy == transition.Usher:
		return fmt.Sprintf("usher, where `%s` is enforced", c.Level)
	case c.RefusedBy != "":
		return string(c.RefusedBy)
	case c.Outcome == transition.InSteps && len(c.Steps) > 0:
		return "you, with the steps below"
	case kind == "EtcdCluster" || kind == "Network":
		return "usher's controller"
	case c.Outcome == transition.InPlace:
		return string(transition.Server)
	}
	return "the " + markdown.Prose(kind) + " controller"
}

// markdownSteps writes the steps around the changes of an object, and its plan.
func markdownSteps(b *strings.Builder, o diffObject) {
	var steps strings.Builder
	for _, group := range groups(o.Changes) {
		c := group[len(group)-1]
		if len(c.Steps) == 0 {
			continue
		}
		fmt.Fprintf(&steps, "\n%s:\n\n", markdown.Code(c.Path))
		for n, step := range c.Steps {
			number := fmt.Sprintf("%d. ", n+1)
			indent := strings.Repeat(" ", len(number))
			steps.WriteString(number)
			text, command := splitStep(step)
			if text != "" {
				fmt.Fprintf(&steps, "%s\n", markdown.Prose(text))
			}
			if command != "" && text != "" {
				steps.WriteString("\n" + indent)
			}
			if command != "" {
				steps.WriteString(markdown.Fenced(command, indent))
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

// splitStep splits a step into the words before its command, and the command.
func splitStep(step string) (text, command string) {
	const kubectl = "kubectl "
	text, rest, found := strings.Cut(step, kubectl)
	if !found || text != "" && !strings.HasSuffix(text, ": ") && !strings.HasSuffix(text, ", then ") {
		return step, ""
	}
	return strings.TrimSpace(text), kubectl + rest
}
