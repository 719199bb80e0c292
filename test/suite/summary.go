package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// slowest is how many packages the summary names.
const slowest = 10

// position is the testing package's prefix of a test's output.
var position = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// reason returns a test's last output before it was skipped.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if at := position.FindString(line); at != "" {
			return strings.TrimSpace(line[len(at):])
		}
	}
	return "it does not say why"
}

// summarize prints the results of the runs; the last line is the overall
// result.
func (r *report) summarize(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	packages := slices.SortedFunc(maps.Keys(r.packages), func(a, b string) int { return cmp.Compare(r.packages[b], r.packages[a]) })
	fmt.Fprintf(r.out, "\nSlowest packages%s:\n", load())
	for _, pkg := range packages[:min(slowest, len(packages))] {
		fmt.Fprintf(r.out, "%8.1f s  %s\n", r.packages[pkg], pkg)
	}
	if len(r.skipped) > 0 {
		fmt.Fprintln(r.out, "\nTests that could not run:")
		for _, line := range r.reasons() {
			fmt.Fprintln(r.out, "  "+line)
		}
	}
	if len(r.failed) > 0 {
		fmt.Fprintln(r.out, "\nTests that failed:")
		for _, test := range r.failed {
			fmt.Fprintln(r.out, "  "+strings.TrimSpace(test.pkg+" "+test.test))
		}
	}
	fmt.Fprintf(r.out, "\n%d tests passed, %d failed, %d could not run; %d packages in %s\n",
		r.passed, len(r.failed), len(r.skipped), len(r.packages), took.Round(100*time.Millisecond))
}

// reasons lists the packages with tests that could not run, with their number
// and reasons.
func (r *report) reasons() []string {
	counts := map[[2]string]int{}
	for test, why := range r.skipped {
		counts[[2]string{test.pkg, why}]++
	}
	var lines []string
	for at, count := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d: %s", at[0], count, at[1]))
	}
	return slices.Sorted(slices.Values(lines))
}

// couldNotRun lists the packages with tests that could not run.
func (r *report) couldNotRun() []string {
	packages := map[string]bool{}
	for test := range r.skipped {
		packages[test.pkg] = true
	}
	return slices.Sorted(maps.Keys(packages))
}

// load returns the machine's load in the last minute, if the kernel reports it:
// durations are meaningless without it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	lately, _, _ := strings.Cut(string(text), " ")
	return " (load " + lately + ")"
}
