package tasks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse(`# Title

<!-- task: inject a file -->
<!-- run: usher inject pod.yaml -->
` + "```console" + `
$ usher inject pod.yaml
    indented output
` + "```" + `

    not a task

<!-- task: refuse, status 1 -->

    kubectl label namespace shop a=b
    kubectl apply -f job.yaml

text
<!-- task: inject a file -->

    usher explain pod/web
`)
	want := []Task{
		{"inject a file", []Command{{"usher inject pod.yaml", 0, 6}, {"usher explain pod/web", 0, 20}}},
		{"refuse", []Command{{"kubectl label namespace shop a=b", 0, 14}, {"kubectl apply -f job.yaml", 1, 15}}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestParse_Mistakes(t *testing.T) {
	for document, want := range map[string]string{
		"<!-- task: refuse -->\ntext\n":                     `line 1: no commands follow "<!-- task: refuse -->": write an indented block, or a recording`,
		"\n<!-- task: refuse, status one -->\n\n    true\n": `line 2: got "<!-- task: refuse, status one -->", want <!-- task: NAME --> or <!-- task: NAME, status N -->`,
	} {
		if _, err := Parse(document); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", document, err, want)
		}
	}
}
