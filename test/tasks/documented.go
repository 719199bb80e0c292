package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Tutorial is the document with the tasks.
const Tutorial = "docs/getting-started.md"

// Documented returns the tasks of the tutorial. root is the repository's folder.
func Documented(root string) ([]Task, error) {
	text, err := os.ReadFile(filepath.Join(root, Tutorial))
	if err != nil {
		return nil, err
	}
	tasks, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Tutorial, err)
	}
	return tasks, nil
}

// An Expectation says what the commands of a task show.
type Expectation struct {
	// Task is the name in the document.
	Task string
	// Prints are texts that its commands print, in this order.
	Prints []string
	// Cluster says whether it needs one.
	Cluster bool
}

// Expected are the tasks that the tutorial must have.
var Expected = []Expectation{
	{Task: "inject a file", Prints: []string{"logs: injected", "image: fluent/fluent-bit:4.2.0"}},
	{Task: "inject on a cluster", Prints: []string{"√ webhook configurations", "successfully rolled out", "web logs"}, Cluster: true},
	{Task: "find out why a pod has no sidecar", Prints: []string{"has logs", "NEXT POD", "gets logs"}, Cluster: true},
	{Task: "refuse in the cluster", Prints: []string{"usher.dev", "cronjob-impossible"}, Cluster: true},
	{Task: "roll out a new version of a template", Prints: []string{"outdated", "restarted"}, Cluster: true},
	{Task: "uninstall", Prints: []string{`namespace "usher-system" deleted`}, Cluster: true},
	{Task: "check in CI", Prints: []string{"job-restart-policy"}},
	{Task: "see the effect of a change", Prints: []string{"recreate"}},
}

// Of returns the expectation of a task.
func Of(name string) (Expectation, error) {
	i := slices.IndexFunc(Expected, func(e Expectation) bool { return e.Task == name })
	if i < 0 {
		return Expectation{}, fmt.Errorf("the task %q is in %s and not in this list: say what it prints", name, Tutorial)
	}
	return Expected[i], nil
}
