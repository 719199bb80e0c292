package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestCheck_OfManyWorkloadsWithOneSelector_SaysWhatItDidNotCompare checks one more
// than usher compares with an object.
func TestCheck_OfManyWorkloadsWithOneSelector_SaysWhatItDidNotCompare(t *testing.T) {
	crowd := func(n int) string {
		var files strings.Builder
		for i := range n {
			fmt.Fprintf(&files, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"app-%d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"app","image":"app:1"}]}}}}`+"\n", i)
		}
		return files.String()
	}
	const most = 200
	const n = most + 1
	note := fmt.Sprintf("objects whose selectors usher compared with only %d of the workloads that they may select: %d", most, n)
	for count, noted := range map[int]bool{n - 1: false, n: true} {
		status, stdout, stderr := usher(t, crowd(count), "check", "-", "--rule", "selector-overlap")
		if status != 0 || strings.Contains(stderr, note) != noted || strings.Contains(stdout, fmt.Sprintf("(usher compared only %d of %d workloads)", most, n)) != noted {
			t.Errorf("%d Deployments: exit status %d\n%.1000s\n%s", count, status, stdout, stderr)
		}
	}
}
