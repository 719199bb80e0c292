// Package status says whether usher works in a cluster: a list of checks, each with
// what was found and what to do about it. Every check reads only; what the user may
// not read is unknown, and never an error.
package status

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// A State is the result of a check.
type State string

// The states of a check.
const (
	OK State = "ok"
	// Warning is what a person should know, and what does not stop usher.
	Warning State = "warning"
	// Failed is what stops usher, or a part of it.
	Failed State = "failed"
	// Unknown is what could not be read.
	Unknown State = "unknown"
)

// A Check is one line of the report.
type Check struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	State   State  `json:"state"`
	// Message says what was found.
	Message string `json:"message"`
	// Remedy is what to do about it; "" if nothing needs to be done.
	Remedy string `json:"remedy,omitempty"`
}

// A Report is the checks in their order.
type Report struct {
	Checks []Check `json:"checks"`
}

// Count returns the number of checks in a state.
func (r *Report) Count(state State) int {
	count := 0
	for _, c := range r.Checks {
		if c.State == state {
			count++
		}
	}
	return count
}

// marks are the signs before the lines, as other tools print them, and their
// colours.
var marks = map[State]struct{ sign, colour string }{
	OK: {"√", "\x1b[32m"}, Warning: {"‼", "\x1b[33m"}, Failed: {"×", "\x1b[31m"}, Unknown: {"?", "\x1b[36m"},
}

// Text writes the report for people.
func (r *Report) Text(out io.Writer, colour bool) error {
	w := bufio.NewWriter(out)
	section, said := "", map[string]bool{}
	for _, c := range r.Checks {
		if c.Section != section {
			if section != "" {
				fmt.Fprintln(w)
			}
			section = c.Section
			fmt.Fprintf(w, "%s\n%s\n", section, strings.Repeat("-", len(section)))
		}
		sign := marks[c.State].sign
		if colour {
			sign = marks[c.State].colour + sign + "\x1b[0m"
		}
		fmt.Fprintf(w, "%s %s: %s\n", sign, c.Name, printable(c.Message))
		if c.State == Unknown && said[c.Remedy] {
			continue // the same right, or the same person to ask
		}
		said[c.Remedy] = true
		for line := range strings.Lines(c.Remedy) {
			fmt.Fprintf(w, "    %s\n", printable(strings.TrimSuffix(line, "\n")))
		}
	}
	fmt.Fprintf(w, "\n%s\n", r.summary())
	return w.Flush()
}

// summary counts the checks that are not ok.
func (r *Report) summary() string {
	var parts []string
	for _, state := range []State{Failed, Warning, Unknown} {
		if count := r.Count(state); count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, state))
		}
	}
	if len(parts) == 0 {
		return "Everything is ok."
	}
	return fmt.Sprintf("Of %d checks: %s.", len(r.Checks), strings.Join(parts, ", "))
}

// printable keeps what a cluster contains from controlling the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '\uFFFD'
	}, text)
}
