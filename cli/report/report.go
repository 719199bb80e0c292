// Package report writes the findings of a check in formats for people, editors
// and CI systems.
package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/yaml/position"
)

// A Result is the result of a check.
type Result struct {
	Findings []Finding `json:"findings"`
	Skipped  []Skipped `json:"skipped"`
	Summary  Summary   `json:"summary"`
	// Notes describe what the check could not do, or assumed.
	Notes []string `json:"notes,omitempty"`
	// NotEvaluated are the objects that decide about others in a cluster, and that
	// usher does not evaluate.
	NotEvaluated []files.Unevaluated `json:"notEvaluated,omitempty"`
	// Unjudged are the parts of the input that usher could not render.
	Unjudged []input.Unjudged `json:"unjudged,omitempty"`
	// Errors describe the input that could not be read.
	Errors []string `json:"errors,omitempty"`
	// Version is the version of usher, which the page names.
	Version string `json:"-"`
}

// A Finding is one problem of one object, and its place.
type Finding struct {
	File string `json:"file"`
	// Line and Column are the place in the file, from 1.
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Unit is the chart or the kustomization that the object was rendered from.
	Unit string `json:"unit,omitempty"`
	finding.Finding
	// Effect is the consequence in the cluster: denies, denies-pods, warns, exempt
	// or none.
	Effect string `json:"effect"`
	// Fails is true if the finding fails the check.
	Fails bool `json:"-"`
	// Source are the lines of the file around the place, if they were requested.
	Source position.Excerpt `json:"-"`
	// Fingerprint identifies the finding in later versions of the file, if that was
	// requested.
	Fingerprint *Fingerprint `json:"-"`
}

// Skipped counts the documents that were skipped for one reason.
type Skipped struct {
	Reason     string `json:"reason"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Count      int    `json:"count"`
}

// A Summary counts findings.
type Summary struct {
	Files int `json:"files"`
	// Rendered counts the charts and kustomizations that were rendered.
	Rendered  int `json:"rendered,omitempty"`
	Documents int `json:"documents"`
	Judged    int `json:"judged"`
	Invariant int `json:"invariant"`
	Baseline  int `json:"baseline"`
	Strict    int `json:"strict"`
	Exempt    int `json:"exempt"`
	// Known counts the findings that a baseline has, and that are not reported.
	Known  int `json:"known,omitempty"`
	Errors int `json:"errors"`
	// Rules counts the findings of each rule.
	Rules []RuleCount `json:"rules,omitempty"`
}

// Add counts a finding.
func (s *Summary) Add(f Finding) {
	if f.Exempt == "" {
		s.count(f)
	}
	switch {
	case f.Exempt != "":
		s.Exempt++
	case f.Level == finding.Invariant:
		s.Invariant++
	case f.Level == finding.Baseline:
		s.Baseline++
	case f.Level == finding.Strict:
		s.Strict++
	}
}

// Formats are the names of the formats.
func Formats() []string {
	return []string{"text", "json", "yaml", "sarif", "junit", "github", "html", "markdown"}
}

// Lines reports whether a format has a line for each finding, so that WriteLines can
// write it finding by finding.
func Lines(format string) bool { return format == "text" || format == "github" }

// WriteLines writes findings in a format with a line for each. Only the text format
// uses colour.
func WriteLines(out io.Writer, format string, findings []Finding, colour bool) error {
	w := bufio.NewWriter(out)
	for _, f := range findings {
		switch format {
		case "text":
			writeText(w, f, colour)
		case "github":
			writeGitHub(w, f)
		}
	}
	return w.Flush()
}

// Write writes a result in a format. Only the text format uses colour.
func Write(out io.Writer, format string, r *Result, colour bool) error {
	switch format {
	case "text", "github":
		return WriteLines(out, format, r.Findings, colour)
	case "json":
		return writeJSON(out, r)
	case "yaml":
		return writeYAML(out, r)
	case "sarif":
		return writeSARIF(out, r)
	case "junit":
		return writeJUnit(out, r)
	case "html":
		return writeHTML(out, r)
	case "markdown":
		return writeMarkdown(out, r)
	}
	return fmt.Errorf("output format %q is unknown", format)
}

// object names the object of a finding like kubectl.
func (f Finding) object() string {
	name := f.Kind + "/" + f.Name
	if f.Namespace != "" {
		name += " in " + f.Namespace
	}
	return name
}
