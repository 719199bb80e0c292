package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/policies/transition"
)

// maxValue limits a value in text output, in runes.
const maxValue = 60

// diffFormats are the values of -o of usher diff.
var diffFormats = []string{"text", "json", "yaml", "markdown", "html"}

func printDiff(w io.Writer, output string, r *diffReport) error {
	switch output {
	case "markdown":
		return markdownDiff(w, r)
	case "html":
		return htmlDiff(w, r)
	case "json", "yaml":
		return printData(w, output, r)
	}
	return textDiff(w, r)
}

// printData writes a value as indented JSON, or as YAML.
func printData(w io.Writer, output string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil && output == "yaml" {
		data, err = manifest.YAML(data, nil)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, strings.TrimSuffix(string(data), "\n"))
	return err
}

func textDiff(w io.Writer, r *diffReport) error {
	var b strings.Builder
	for _, o := range r.Objects {
		name := o.Kind + " " + o.qualifiedName()
		switch o.Action {
		case actionUnchanged:
			if o.Template == nil || len(o.Template.Workloads) == 0 {
				continue
			}
			fmt.Fprintf(&b, "%s: %s\n", name, o.Action)
		case actionChanged:
			fmt.Fprintf(&b, "%s: %s\n", name, o.Outcome)
			writeChanges(&b, o)
		case actionFailed:
			fmt.Fprintf(&b, "%s:%d: %s: %s: %s\n", o.File, o.Line, name, o.Action, o.Error)
		case actionUnknown:
			fmt.Fprintf(&b, "%s: not compared, because usher knows no transitions of %s %s\n", name, o.APIVersion, o.Kind)
		default:
			fmt.Fprintf(&b, "%s: %s", name, o.Action)
			if len(o.Changes) > 0 {
				fmt.Fprintf(&b, ", but %s", o.Outcome)
			}
			b.WriteByte('\n')
			writeChanges(&b, o)
		}
		if o.Template != nil {
			o.Template.text(&b)
		}
	}
	fmt.Fprintln(&b, r.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// qualifiedName is the object's name, after its namespace if it has one.
func (o diffObject) qualifiedName() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// groups sorts changes, the most severe first, and groups those with the same
// effect.
func groups(changes []diffChange) [][]diffChange {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(x, y diffChange) int {
		switch {
		case x.Outcome == y.Outcome:
			return strings.Compare(x.Row, y.Row)
		case x.Outcome.AtLeast(y.Outcome):
			return -1
		}
		return 1
	})
	var all [][]diffChange
	for i, c := range changes {
		if i > 0 && alike(c.Change, changes[i-1].Change) {
			all[len(all)-1] = append(all[len(all)-1], c)
		} else {
			all = append(all, []diffChange{c})
		}
	}
	return all
}

func writeChanges(b *strings.Builder, o diffObject) {
	for _, group := range groups(o.Changes) {
		for _, c := range group {
			if c.From != nil || c.To != nil {
				from, to := values(c.From, c.To)
				fmt.Fprintf(b, "  %s:%d:%d  %s: %s → %s\n", c.File, c.Line, c.Column, c.Path, from, to)
			}
		}
		c := group[len(group)-1]
		fmt.Fprintf(b, "    %s", c.Outcome)
		switch {
		case c.Outcome == transition.Unknown:
			fmt.Fprintf(b, ", and %s may refuse it", c.RefusedBy)
		case c.RefusedBy == transition.Usher:
			fmt.Fprintf(b, ", denied by usher where %s is enforced", c.Level)
		case c.RefusedBy != "":
			fmt.Fprintf(b, ", refused by %s", c.RefusedBy)
		}
		if c.Row != "" {
			fmt.Fprintf(b, " [%s]", c.Row)
		}
		if c.Harm != "" {
			fmt.Fprintf(b, ": %s", c.Harm)
		}
		b.WriteByte('\n')
		for n, step := range c.Steps {
			fmt.Fprintf(b, "      %d. %s\n", n+1, step)
		}
	}
	if o.Omitted > 0 {
		fmt.Fprintf(b, "  and %d more changes\n", o.Omitted)
	}
	if o.Assumes != "" {
		fmt.Fprintf(b, "  assuming that %s: the old manifest has no status\n", o.Assumes)
	}
	if o.Plan != nil {
		writePlan(b, o.Plan)
	}
}

// writePlan writes the controller's steps, and how many more voters may fail
// after each.
func writePlan(b *strings.Builder, p *transition.Plan) {
	if len(p.Steps) > 0 {
		fmt.Fprintf(b, "  steps, if all goes well; the margin is how many more voters may fail:\n")
	}
	for n, s := range p.Steps {
		fmt.Fprintf(b, "    %3d. %s (%s)\n", n+1, s.Step, margin(s))
	}
	if p.Blocked != "" {
		fmt.Fprintf(b, "  incomplete: %s\n", p.Blocked)
	}
}

func margin(s transition.PlannedStep) string {
	text := fmt.Sprintf("margin %d", s.Margin)
	if s.Meanwhile < s.Margin {
		text += fmt.Sprintf(", %d meanwhile", s.Meanwhile)
	}
	if s.Meanwhile < 0 {
		text += ": no writes"
	}
	return text
}

func alike(a, b transition.Change) bool {
	return a.Row == b.Row && a.Outcome == b.Outcome && a.Harm == b.Harm
}

// values writes two values on one line each, cut around their first difference;
// JSON escapes terminal control characters.
func values(from, to any) (string, string) {
	a, b := written(from), written(to)
	const before = 15
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	start := 0
	if max(len(a), len(b)) > maxValue {
		start = max(0, same-before)
	}
	return cut(a, start), cut(b, start)
}

func written(v any) []rune {
	if v == nil {
		return []rune("(absent)")
	}
	data, err := json.Marshal(v)
	if err != nil {
		return []rune("?")
	}
	return []rune(string(data))
}

func cut(text []rune, start int) string {
	start = min(start, max(0, len(text)-maxValue))
	end := min(len(text), start+maxValue)
	var b strings.Builder
	if start > 0 {
		b.WriteRune('…')
	}
	b.WriteString(string(text[start:end]))
	if end < len(text) {
		b.WriteRune('…')
	}
	return b.String()
}

// counted are the outcomes in the order of the summary, the most severe first.
func counted() []transition.Outcome {
	outcomes := append(transition.Outcomes(), transition.Unknown)
	slices.Reverse(outcomes)
	return outcomes
}

// summary counts the objects by outcome, the most severe first.
func (r *diffReport) summary() string {
	var parts []string
	for _, o := range counted() {
		if n := r.Summary[string(o)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	for _, action := range []string{actionUnchanged, actionCreated, actionDeleted, actionUnknown, actionFailed, actionMissed} {
		if n := r.Summary[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	if r.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d not Kubernetes objects", r.Skipped))
	}
	switch {
	case len(parts) > 0:
	case len(r.errs) > 0:
		parts = []string{"nothing compared"}
	default:
		parts = []string{"nothing to compare"}
	}
	return strings.Join(parts, ", ")
}
