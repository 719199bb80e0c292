package report

import (
	"bufio"
	"fmt"
	"strings"
	"unicode"

	"github.com/usher-dev/usher/finding"
)

// writeText writes a finding on a line.
func writeText(w *bufio.Writer, f Finding, colour bool) {
	level := f.Level.String()
	if colour {
		level = paint(f.Level) + level + "\x1b[0m"
	}
	fmt.Fprintf(w, "%s:%d:%d: %s: %s", printable(f.File), f.Line, f.Column, level, printable(f.Message))
	if f.Exempt != "" {
		fmt.Fprintf(w, " [exempt: %s]", printable(f.Exempt))
	}
	fmt.Fprintf(w, " (%s)\n", f.Rule)
}

func paint(l finding.Level) string {
	switch l {
	case finding.Invariant:
		return "\x1b[31m"
	case finding.Baseline:
		return "\x1b[33m"
	}
	return "\x1b[36m"
}

// printable keeps the content of manifests from breaking lines or controlling
// the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}
