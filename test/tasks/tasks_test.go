package tasks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/test/binaries"
)

const root = "../.."

// TestTheTutorialHasTheTasks compares the document with the list.
func TestTheTutorialHasTheTasks(t *testing.T) {
	tasks, _, err := Documented(root)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, task := range tasks {
		got = append(got, task.Name)
	}
	for _, e := range Expected {
		want = append(want, e.Task)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-want +%s):\n%s", Tutorial, diff)
	}
}

// TestTheComparisonCountsTheCommands compares the table with the commands.
func TestTheComparisonCountsTheCommands(t *testing.T) {
	tasks, _, err := Documented(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, Comparison))
	if err != nil {
		t.Fatal(err)
	}
	table, err := Table(string(text), tasks, Seconds(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Replace(string(text), table)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s (-counted +written): run the test on a node with -args -write\n%s", Comparison, diff)
	}
}

// offline returns a shell with usher and without a cluster.
func offline(t *testing.T) Shell {
	t.Helper()
	program, err := binaries.Build(root, t.TempDir(), "usher")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs(filepath.Dir(program))
	if err != nil {
		t.Fatal(err)
	}
	return Shell{Folder: root, Environment: []string{"PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH"), "KUBECONFIG=/dev/null"}}
}

// TestDocumentedTasksOnFiles runs the tasks that need no cluster.
func TestDocumentedTasksOnFiles(t *testing.T) {
	shell := offline(t)
	tasks, _, err := Documented(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if e, err := Of(task.Name); err != nil || e.Cluster {
			continue
		}
		t.Run(task.Name, func(t *testing.T) { run(t, shell, task) })
	}
}

// TestTasksOfTheREADME runs its commands, whose status is all that it says of them.
func TestTasksOfTheREADME(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := Parse(string(text))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("%d tasks: %v", len(tasks), err)
	}
	shell := offline(t)
	for _, task := range tasks {
		for _, command := range task.Commands {
			if out, err := shell.Run(t.Context(), command); err != nil || out == "" {
				t.Errorf("README.md: %v", err)
			}
		}
	}
}

// run runs the commands of a task, and looks for what it must print.
func run(t *testing.T, shell Shell, task Task) {
	t.Helper()
	expected, err := Of(task.Name)
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	for _, command := range task.Commands {
		started := time.Now()
		out, err := shell.Run(t.Context(), command)
		t.Logf("%5.2f s  %s", time.Since(started).Seconds(), command.Text)
		if err != nil {
			t.Fatalf("%s: %v", Tutorial, err)
		}
		printed.WriteString(out)
	}
	rest := printed.String()
	for _, text := range expected.Prints {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q does not print %q, or not in this order:\n%s", task.Name, text, printed.String())
		}
		rest = after
	}
}
