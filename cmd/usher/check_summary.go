package main

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/finding"
)

// summarise prints totals on standard error.
func summarise(s streams, r *report.Result) {
	sum := r.Summary
	where := finding.Count(sum.Files, "file")
	if sum.Rendered > 0 {
		where += " and " + finding.Count(sum.Rendered, "rendered unit")
	}
	fmt.Fprintf(s.err, "%s in %s: %d invariant, %d baseline, %d strict", finding.Count(sum.Judged, "object"), where, sum.Invariant, sum.Baseline, sum.Strict)
	if sum.Exempt > 0 {
		fmt.Fprintf(s.err, ", %d exempt", sum.Exempt)
	}
	fmt.Fprintln(s.err)
	if note := files.NotEvaluatedNote(r.NotEvaluated); note != "" {
		fmt.Fprintln(s.err, note)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(s.err, note)
	}
	for _, unit := range r.Unjudged {
		if unit.Command != "" {
			fmt.Fprintf(s.err, "%s %s is not judged: %s; to see more, run %s\n", unit.Kind, unit.Path, unit.Reason, unit.Command)
		}
	}
	for _, skipped := range r.Skipped {
		what := strings.TrimSpace(skipped.APIVersion + " " + skipped.Kind)
		if what != "" {
			what += ": "
		}
		fmt.Fprintf(s.err, "%d skipped: %s%s\n", skipped.Count, what, skipped.Reason)
	}
	if len(r.Unjudged) > 0 {
		fmt.Fprintln(s.err, unjudged(r.Unjudged))
	}
}

// unjudged is the line that ends the output, if a part of the input was not judged. It
// names files, of which there may be many.
func unjudged(all []input.Unjudged) string {
	const named = 5
	files := map[string][]string{}
	for _, unit := range all {
		if unit.Command == "" {
			files[unit.Kind] = append(files[unit.Kind], unit.Path)
		}
	}
	says := "1 unit not judged"
	if len(all) != 1 {
		says = fmt.Sprintf("%d units not judged", len(all))
	}
	for _, kind := range []struct{ name, one, many string }{
		{"template", "file is a template that a tool has to render", "files are templates that a tool has to render"},
		{"patch", "file looks like a patch", "files look like patches"},
	} {
		paths := files[kind.name]
		n := len(paths)
		switch n {
		case 0:
			continue
		case 1:
			says += fmt.Sprintf("; %d %s: %s", n, kind.one, paths[0])
		default:
			says += fmt.Sprintf("; %d %s: %s", n, kind.many, strings.Join(paths[:min(n, named)], ", "))
		}
		if n > named {
			says += fmt.Sprintf(" and %d more", n-named)
		}
	}
	return says
}
