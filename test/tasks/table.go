package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Comparison is the document that compares the tasks with those of other tools.
const Comparison = "docs/eight-tasks.md"

const begin, end = "<!-- tasks -->\n", "<!-- end -->"

// peers are the sections of the document, in the order of the table's columns.
var peers = []string{"istioctl", "linkerd", "kyverno", "kube-linter"}

// Table returns the table of the numbers of commands, of the tutorial's tasks and of
// those in the sections of the comparison. seconds are those of tasks, for the column
// that cannot be counted.
func Table(comparison string, tasks []Task, seconds map[string]string) (string, error) {
	counts := map[string]map[string]int{}
	for _, peer := range peers {
		_, section, found := strings.Cut(comparison, "\n## "+peer+"\n")
		if !found {
			return "", fmt.Errorf("%s has no section %s", Comparison, peer)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		theirs, err := Parse(section)
		if err != nil {
			return "", fmt.Errorf("%s, section %s: %w", Comparison, peer, err)
		}
		counts[peer] = map[string]int{}
		for _, task := range theirs {
			if _, err := Of(task.Name); err != nil {
				return "", fmt.Errorf("%s, section %s: %w", Comparison, peer, err)
			}
			counts[peer][task.Name] = len(task.Commands)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| task | usher | seconds | %s |\n|---|---:|---:|%s\n", strings.Join(peers, " | "), strings.Repeat("---:|", len(peers)))
	for _, task := range tasks {
		fmt.Fprintf(&b, "| %s | %d | %s |", task.Name, len(task.Commands), seconds[task.Name])
		for _, peer := range peers {
			if n := counts[peer][task.Name]; n > 0 {
				fmt.Fprintf(&b, " %d |", n)
			} else {
				b.WriteString(" – |")
			}
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// Seconds returns the column of seconds of the comparison's table.
func Seconds(comparison string) map[string]string {
	seconds := map[string]string{}
	_, table, _ := strings.Cut(comparison, begin)
	table, _, _ = strings.Cut(table, end)
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, " | "); len(cells) > 2 {
			seconds[strings.TrimPrefix(cells[0], "| ")] = cells[2]
		}
	}
	return seconds
}

// Replace returns the comparison with another table.
func Replace(comparison, table string) (string, error) {
	before, rest, found := strings.Cut(comparison, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("%s has no table between %q and %q", Comparison, strings.TrimSpace(begin), end)
	}
	return before + begin + table + end + after, nil
}

// Update writes the table into the comparison. root is the repository's folder.
func Update(root string, tasks []Task, seconds map[string]string) error {
	file := filepath.Join(root, Comparison)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	table, err := Table(string(text), tasks, seconds)
	if err != nil {
		return err
	}
	changed, err := Replace(string(text), table)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}
