package report

import (
	"bufio"
	"cmp"
	_ "embed" // the page
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/page"
	"github.com/usher-dev/usher/finding"
)

//go:embed check.html
var checkHTML string

var checkPage = page.New(checkHTML)

// The page of a check: its findings by rule, the most severe rules first.
type (
	htmlReport struct {
		*Result
		Total, Failing int
		Levels         []page.Value
		Shares         []htmlShare
		Facets         []*page.Facet
		Groups         []*htmlGroup
	}
	// htmlShare is the part of the findings with a level, and where it begins.
	htmlShare struct {
		Class       string
		From, Count int
	}
	htmlGroup struct {
		Rule, Level, Harm, Fix string
		Index                  int
		Findings               []htmlFinding
	}
	htmlFinding struct {
		Object, In, Message, Place string
		// Level, Namespace and Unit are indexes of values of the facets.
		Level, Namespace, Unit int
		// Line is the line of the finding, Before and After are those around it.
		Before, Line, After string
		Withheld            bool
		// Harm and Fix are set if they differ from the group's.
		Harm, Fix, Effect, Exempt string
	}
)

// writeHTML writes a page for people.
func writeHTML(out io.Writer, r *Result) error {
	w := bufio.NewWriter(out)
	if err := checkPage.Write(w, "usher check", "usher "+r.Version, newHTML(r)); err != nil {
		return err
	}
	return w.Flush()
}

func newHTML(r *Result) *htmlReport {
	h := &htmlReport{Result: r, Total: len(r.Findings)}
	levels := &page.Facet{Key: "level", Title: "Severity"}
	rules := &page.Facet{Key: "rule", Title: "Rule"}
	namespaces := &page.Facet{Key: "ns", Title: "Namespace", ByCount: true}
	units := &page.Facet{Key: "unit", Title: "Folder", ByCount: true}
	h.Facets = []*page.Facet{levels, rules, namespaces, units}

	findings := slices.Clone(r.Findings)
	sizes := map[string]int{}
	for _, f := range findings {
		sizes[f.Rule]++
		if f.Fails {
			h.Failing++
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(severity(a)-severity(b), sizes[b.Rule]-sizes[a.Rule], strings.Compare(a.Rule, b.Rule))
	})
	groups := map[string]*htmlGroup{}
	for _, f := range findings {
		g := groups[f.Rule]
		index := rules.Add(page.Value{Value: f.Rule, Label: f.Rule, Class: f.Level.String()})
		if g == nil {
			g = &htmlGroup{Rule: f.Rule, Level: f.Level.String(), Harm: f.Harm, Fix: f.Fix, Index: index}
			groups[f.Rule] = g
			h.Groups = append(h.Groups, g)
		}
		level := levelOf(f)
		one := newHTMLFinding(f, g)
		one.Level = levels.Add(page.Value{Value: level, Label: level, Class: level})
		one.Namespace = namespaces.Add(page.Value{Value: f.Namespace, Label: cmp.Or(f.Namespace, "(no namespace)")})
		unit := unitOf(f.File)
		one.Unit = units.Add(page.Value{Value: unit, Label: unit})
		g.Findings = append(g.Findings, one)
	}
	h.Levels = levels.Values()
	from := 0
	for _, l := range h.Levels {
		h.Shares = append(h.Shares, htmlShare{l.Class, from, l.Count})
		from += l.Count
	}
	return h
}

// Unevaluated names the objects that usher does not evaluate; "" for none.
func (h *htmlReport) Unevaluated() string { return files.NotEvaluatedNote(h.NotEvaluated) }

// Heading says what came of the check.
func (h *htmlReport) Heading() string {
	switch {
	case h.Total == 0 && len(h.Errors) > 0:
		return "The check is incomplete"
	case h.Total == 0:
		return "No findings"
	case h.Failing == 0:
		return page.Count(h.Total, "finding") + ": the check passes"
	case h.Failing == h.Total:
		return page.Count(h.Total, "finding") + ": the check fails"
	}
	return page.Count(h.Total, "finding") + ", " + page.Number(h.Failing) + " of them severe enough to fail the check"
}

// severity orders findings: the most severe first, exempt ones last.
func severity(f Finding) int {
	if f.Exempt != "" {
		return len(finding.Levels()) + 1
	}
	return slices.Index(finding.Levels(), f.Level)
}

func levelOf(f Finding) string {
	if f.Exempt != "" {
		return "exempt"
	}
	return f.Level.String()
}

// unitOf returns the folder of a file.
func unitOf(file string) string {
	if file == manifest.Stdin {
		return "standard input"
	}
	return filepath.ToSlash(filepath.Dir(file))
}

func newHTMLFinding(f Finding, g *htmlGroup) htmlFinding {
	one := htmlFinding{
		Object: f.Kind + "/" + f.Name, In: f.Namespace, Message: f.Message, Place: fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column),
		Withheld: f.Source.Withheld, Effect: effects[f.Effect], Exempt: f.Exempt,
	}
	if f.Harm != g.Harm {
		one.Harm = f.Harm
	}
	if f.Fix != g.Fix {
		one.Fix = f.Fix
	}
	width := len(fmt.Sprint(f.Source.First + len(f.Source.Lines)))
	for i, line := range f.Source.Lines {
		number := f.Source.First + i
		text := fmt.Sprintf("%*d  %s\n", width, number, line)
		switch {
		case number < f.Line:
			one.Before += text
		case number == f.Line:
			one.Line = strings.TrimSuffix(text, "\n")
		default:
			one.After += text
		}
	}
	if one.After != "" {
		one.After = "\n" + strings.TrimSuffix(one.After, "\n")
	}
	return one
}

// effects describe the consequence of a finding in the cluster, by
// Finding.Effect.
var effects = map[string]string{
	"denies":      "In the cluster the object is denied.",
	"denies-pods": "In the cluster the object is accepted, and its pods are denied.",
	"warns":       "In the cluster the object is accepted with a warning.",
}
