package main

import (
	"fmt"
	"strings"
)

// A table is written in Markdown.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	b.WriteString("|---" + strings.Repeat("|---:", len(t.head)-1) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// two formats a number with two significant digits.
func two(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// met says whether a budget is met.
func met(yes bool) string {
	if yes {
		return "met"
	}
	return "**missed**"
}
