package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Tutorial is the document with the tasks.
const Tutorial = "docs/getting-started.md"

// checkout is the tutorial's task for those who build usher. It is an alternative to
// the installation of a release, so it does not count.
const checkout = "install from a checkout"

// Documented returns the tasks of the tutorial, and that of a checkout. root is the
// repository's folder.
func Documented(root string) (tasks []Task, fromCheckout Task, err error) {
	text, err := os.ReadFile(filepath.Join(root, Tutorial))
	if err != nil {
		return nil, fromCheckout, err
	}
	all, err := Parse(string(text))
	if err != nil {
		return nil, fromCheckout, fmt.Errorf("%s: %w", Tutorial, err)
	}
	for _, task := range all {
		if task.Name == checkout {
			fromCheckout = task
		} else {
			tasks = append(tasks, task)
		}
	}
	return tasks, fromCheckout, nil
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
	if name == checkout {
		return Expectation{Task: name, Prints: []string{"deployment.apps/usher-webhook created", "usher answers"}, Cluster: true}, nil
	}
	i := slices.IndexFunc(Expected, func(e Expectation) bool { return e.Task == name })
	if i < 0 {
		return Expectation{}, fmt.Errorf("the task %q is in %s and not in this list: say what it prints", name, Tutorial)
	}
	return Expected[i], nil
}
