package tasks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Task is something that a document teaches.
type Task struct {
	Name     string
	Commands []Command
}

// A Command is a line for the shell.
type Command struct {
	Text string
	// Status is the exit status with which the command ends.
	Status int
	// Line is the command's line in the document.
	Line int
}

var mark = regexp.MustCompile(`^<!-- task: ([a-z A-Z]+?)(?:, status (\d+))? -->$`)

// Parse returns the tasks of a document, in the order in which they begin.
func Parse(document string) ([]Task, error) {
	var tasks []Task
	index := map[string]int{}
	lines := strings.Split(document, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "<!-- task") {
			continue
		}
		found := mark.FindStringSubmatch(line)
		if found == nil {
			return nil, fmt.Errorf("line %d: got %q, want <!-- task: NAME --> or <!-- task: NAME, status N -->", i+1, line)
		}
		commands := block(lines, i+1)
		if len(commands) == 0 {
			return nil, fmt.Errorf("line %d: no commands follow %q: write an indented block, or a recording", i+1, line)
		}
		if found[2] != "" {
			status, err := strconv.Atoi(found[2])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			commands[len(commands)-1].Status = status
		}
		at, known := index[found[1]]
		if !known {
			at = len(tasks)
			index[found[1]] = at
			tasks = append(tasks, Task{Name: found[1]})
		}
		tasks[at].Commands = append(tasks[at].Commands, commands...)
	}
	return tasks, nil
}

// block returns the commands of the block that begins at a line, after empty lines
// and the mark of a recording.
func block(lines []string, start int) []Command {
	var commands []Command
	const indent, prompt, fence = "    ", "$ ", "```"
	fenced := false
	for i, line := range lines[start:] {
		switch {
		case !fenced && strings.HasPrefix(line, indent):
			commands = append(commands, Command{Text: strings.TrimPrefix(line, indent), Line: start + i + 1})
		case fenced && strings.HasPrefix(line, prompt):
			commands = append(commands, Command{Text: strings.TrimPrefix(line, prompt), Line: start + i + 1})
		case line == fence+"console" && !fenced:
			fenced = true
		case fenced && line != fence, len(commands) == 0 && (line == "" || strings.HasPrefix(line, "<!-- run: ")):
		default:
			return commands
		}
	}
	return commands
}
