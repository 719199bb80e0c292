package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// An event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// A name identifies a test.
type name struct{ pkg, test string }

// A report collects the events of several runs, and prints the relevant part:
// failures, and a line for each package.
type report struct {
	out     io.Writer
	verbose bool

	mu       sync.Mutex
	running  map[name][]string // output of tests that have not ended
	passed   int
	failed   []name
	skipped  map[name]string // the reasons
	packages map[string]float64
}

func newReport(out io.Writer, verbose bool) *report {
	return &report{out: out, verbose: verbose, running: map[name][]string{}, skipped: map[name]string{}, packages: map[string]float64{}}
}

// read processes events until the end.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.take(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the events of go test: %w", err)
		}
	}
}

// take processes a line. It prints one that is not an event.
func (r *report) take(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintf(r.out, "%s", line)
		return
	}
	if e.Action == "build-output" || r.verbose && e.Action == "output" {
		fmt.Fprint(r.out, e.Output)
	}
	// The output of a package apart from its tests has the empty name.
	test := name{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.running[test] = append(r.running[test], e.Output)
		return
	case "pass", "fail":
		if e.Test == "" {
			r.endPackage(e)
			return
		}
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		if e.Test == "" {
			break // output of go test for a package without tests
		}
		r.skipped[test] = reason(r.running[test])
	case "fail":
		r.failed = append(r.failed, test)
		r.print(test)
	default:
		return
	}
	delete(r.running, test)
}

// endPackage counts a package that has ended. It prints the result of one that
// passed, and for one that failed everything that was not printed, starting
// with the output of tests that did not end.
func (r *report) endPackage(e event) {
	r.packages[e.Package] = e.Elapsed
	result := name{pkg: e.Package}
	for _, test := range slices.SortedFunc(maps.Keys(r.running), func(a, b name) int { return strings.Compare(a.test, b.test) }) {
		if test.pkg != e.Package || test == result {
			continue
		}
		if e.Action == "fail" {
			r.failed = append(r.failed, test)
			r.print(test)
		}
		delete(r.running, test)
	}
	if e.Action == "pass" {
		r.running[result] = slices.DeleteFunc(r.running[result], func(line string) bool { return !strings.HasPrefix(line, "ok  ") })
	} else if !slices.ContainsFunc(r.failed, func(n name) bool { return n.pkg == e.Package }) {
		r.failed = append(r.failed, result) // it does not compile, or failed outside its tests
	}
	r.print(result)
	delete(r.running, result)
}

func (r *report) print(test name) {
	if r.verbose {
		return // it was already printed
	}
	for _, line := range r.running[test] {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
		}
	}
}
