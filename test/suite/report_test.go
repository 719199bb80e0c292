package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAReportOfARun processes the output of `go test -json` for a package that
// passes, one that fails, one whose test never ended, one with skipped tests
// and one that does not compile.
func TestAReportOfARun(t *testing.T) {
	events, err := os.Open("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	want, err := os.ReadFile("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	r := newReport(&printed, false)
	if err := r.read(events); err != nil {
		t.Fatal(err)
	}
	r.summarize(90 * time.Second)
	got := regexp.MustCompile(`\(load [0-9.]+\)`).ReplaceAllString(printed.String(), "(load)")
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"example.com/skips"}, r.couldNotRun()); diff != "" {
		t.Errorf("packages with tests that could not run (-want +got):\n%s", diff)
	}
}
