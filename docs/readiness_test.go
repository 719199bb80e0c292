package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryTickIsProved looks for the test or the measurement behind each tick.
func TestEveryTickIsProved(t *testing.T) {
	const document = "docs/production-readiness.md"
	ticks := regexp.MustCompile(`(?m)^- \[x\] (.+)$`).FindAllStringSubmatch(read(t, document), -1)
	if len(ticks) < 20 {
		t.Fatalf("found %d ticks", len(ticks))
	}
	for _, tick := range ticks {
		if err := proved(t, document, tick[1]); err != "" {
			t.Errorf("%s: %s", err, tick[1])
		}
	}
}

func TestEveryTickIsProved_Mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"It works: [TestAnchors](links_test.go)":        "",
		"It is fast: [Serving](performance.md#serving)": "",
		"It works":                               "the line names neither a test nor a measurement",
		"It works: [rules](rules.md)":            "the line names neither a test nor a measurement",
		"It works: [TestNothing](links_test.go)": "TestNothing does not exist in docs/links_test.go",
		"It works: [the test](links_test.go)":    "the test does not exist in docs/links_test.go",
	} {
		if got := proved(t, "docs/production-readiness.md", text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

var named = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)

// proved returns what a line lacks, or "".
func proved(t *testing.T, document, text string) string {
	t.Helper()
	proofs := 0
	for _, found := range named.FindAllStringSubmatch(text, -1) {
		name, target := found[1], found[2]
		path, _, _ := strings.Cut(filepath.Join(filepath.Dir(document), target), "#")
		switch {
		case strings.HasSuffix(path, "_test.go"):
			if !strings.Contains(read(t, path), "\nfunc "+name+"(") {
				return name + " does not exist in " + path
			}
			proofs++
		case path == "docs/performance.md", path == "docs/operations.md":
			proofs++
		}
	}
	if proofs == 0 {
		return "the line names neither a test nor a measurement"
	}
	return ""
}
