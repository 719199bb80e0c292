package report

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The elements of a JUnit report, as CI systems read them.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		File    string      `xml:"file,attr"`
		Line    int         `xml:"line,attr"`
		Failure *junitEvent `xml:"failure,omitempty"`
		Skipped *junitEvent `xml:"skipped,omitempty"`
	}
	junitEvent struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a suite for each file and a case for each finding; a
// finding that does not fail the check is a skipped case. A check without
// findings is one passed case, because some readers treat an empty report as
// broken.
func writeJUnit(out io.Writer, r *Result) error {
	all := junitSuites{Name: "usher check"}
	for _, f := range r.Findings {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != f.File {
			all.Suites = append(all.Suites, junitSuite{Name: f.File})
		}
		suite := &all.Suites[len(all.Suites)-1]
		c := junitCase{Name: f.Rule + ": " + f.object() + " " + f.Field, Class: f.Level.String(), File: f.File, Line: f.Line}
		event := &junitEvent{Message: f.Message, Type: f.Rule, Text: fmt.Sprintf("%s:%d:%d\n%s\n%s", f.File, f.Line, f.Column, f.Harm, f.Fix)}
		if f.Fails {
			c.Failure = event
			suite.Failures++
			all.Failures++
		} else {
			c.Skipped = &junitEvent{Message: event.Message, Text: event.Text}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
		all.Tests++
	}
	if all.Tests == 0 {
		all.Tests = 1
		all.Suites = []junitSuite{{Name: "usher check", Tests: 1, Cases: []junitCase{{Name: fmt.Sprintf("%d objects without findings", r.Summary.Judged), Class: "usher"}}}}
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}
