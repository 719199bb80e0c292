package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/markdown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// The Markdown fits into a comment of GitHub, which has at most 65,536 characters.
const (
	maxMarkdown = 60_000
	maxText     = 300 // of a message or a reason, in characters
)

// A group is the findings of one rule in one file.
type group struct {
	level      finding.Level
	rule, file string
	first      Finding
	n          int
}

// writeMarkdown writes a table of the findings by rule and file, the most severe first.
func writeMarkdown(out io.Writer, r *Result) error {
	var b strings.Builder
	s := r.Summary
	fmt.Fprintf(&b, "**usher check: %d invariant, %d baseline, %d strict** in %d objects", s.Invariant, s.Baseline, s.Strict, s.Judged)
	if s.Exempt > 0 {
		fmt.Fprintf(&b, ", %d exempt", s.Exempt)
	}
	b.WriteByte('\n')
	var lines []string
	for _, text := range r.Errors {
		lines = append(lines, "- "+markdown.Code(short(text))+"\n")
	}
	writeBounded(&b, "\nusher could not read all input:\n\n", lines, maxMarkdown/6, func(left int) string { return fmt.Sprintf("- and %d more\n", left) })
	lines = nil
	for _, unit := range r.Unjudged {
		lines = append(lines, fmt.Sprintf("- %s %s: %s\n", unit.Kind, markdown.Code(short(unit.Path)), markdown.Code(short(unit.Reason))))
	}
	writeBounded(&b, "\nNot judged:\n\n", lines, maxMarkdown/3, func(left int) string { return fmt.Sprintf("- and %d more\n", left) })
	groups := grouped(r.Findings)
	lines = nil
	for _, g := range groups {
		lines = append(lines, g.row())
	}
	writeBounded(&b, "\n| level | rule | file | findings | the first |\n|---|---|---|---|---|\n", lines, maxMarkdown, func(left int) string {
		findings := 0
		for _, g := range groups[len(groups)-left:] {
			findings += g.n
		}
		return fmt.Sprintf("\nand %d more findings in %d more rows\n", findings, left)
	})
	_, err := io.WriteString(out, b.String())
	return err
}

// writeBounded writes a heading and lines, if there are some, until the text has a
// size. more describes the lines that are left.
func writeBounded(b *strings.Builder, heading string, lines []string, size int, more func(left int) string) {
	for i, line := range lines {
		if i == 0 {
			b.WriteString(heading)
		}
		if b.Len()+len(line) > size {
			b.WriteString(more(len(lines) - i))
			return
		}
		b.WriteString(line)
	}
}

// grouped groups the findings that are not exempt.
func grouped(findings []Finding) []*group {
	type key struct {
		rule, file string
		level      finding.Level
	}
	found := map[key]*group{}
	var all []*group
	for _, f := range findings {
		if f.Exempt != "" {
			continue
		}
		k := key{f.Rule, f.File, f.Level}
		g := found[k]
		if g == nil {
			g = &group{level: f.Level, rule: f.Rule, file: f.File, first: f}
			found[k] = g
			all = append(all, g)
		}
		if f.Line < g.first.Line {
			g.first = f
		}
		g.n++
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.rule, b.rule), cmp.Compare(a.file, b.file))
	})
	return all
}

// row is the row of the group in the table.
func (g *group) row() string {
	rule := markdown.Code(g.rule)
	if entry, err := ruledocs.Find(g.rule); err == nil {
		rule = "[" + rule + "](" + project + "/blob/main/" + entry.Anchor + ")"
	}
	f := g.first
	message := f.Message
	if f.Field != "" {
		message = f.Field + ": " + message
	}
	return fmt.Sprintf("| %s | %s | %s | %d | line %d: %s |\n", g.level, rule, markdown.Code(short(g.file)), g.n, f.Line, markdown.Prose(short(message)))
}

// short limits a text.
func short(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}
