package main

import (
	"fmt"

	"github.com/usher-dev/usher/cli/report"
)

// fewFindings is up to how many findings a person counts without a table.
const fewFindings = 10

// byRule prints how many findings each rule has, after many lines of findings.
func byRule(s streams, sum report.Summary) {
	all, width := 0, 0
	for _, r := range sum.Rules {
		all += r.Count
		width = max(width, len(r.Rule))
	}
	if all <= fewFindings {
		return
	}
	for _, r := range sum.Rules {
		fmt.Fprintf(s.err, "%6d  %-*s  %s\n", r.Count, width, r.Rule, r.Level)
	}
}
