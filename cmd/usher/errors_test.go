package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// TestTrouble_MessagesSayWhatToDo is about people who are stuck: each message
// says what is wrong, where, and what to do.
func TestTrouble_MessagesSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var wide []byte
	for _, unit := range utf16.Encode([]rune(soundJob)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	tab := write("tab.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n")
	chart := write("deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Values.name }}\nspec:\n{{- toYaml .Values.spec | nindent 2 }}\n")
	unicode, good, empty := write("utf16.yaml", string(wide)), write("good.yaml", soundJob), write("empty.yaml", "# nothing\n")
	folder := filepath.Dir(write("folder/README.md", "no manifest"))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := kubeconfigFor(t, "http://"+listener.Addr().String())
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	silent, _ := silentCluster(t)
	c := startedCluster(t)
	ns := c.namespace(t)

	for name, tc := range map[string]struct {
		stdin    string
		commands []string // "usher" is left out
		want     []string // on standard error
		status   int      // Usage if it is not set
	}{
		"a tab": {
			commands: []string{"check " + tab, "inject " + tab, "diff " + good + " " + tab, "explain -f " + tab, "migrate " + tab},
			want:     []string{tab + ":4: YAML: a tab indents this line: write spaces"},
		},
		"UTF-16 without a byte order mark": {
			commands: []string{"check " + unicode, "inject " + unicode, "diff " + good + " " + unicode, "explain -f " + unicode, "migrate " + unicode},
			want:     []string{unicode + ": UTF-16 text: write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8"},
		},
		"a template of a Helm chart": {
			commands: []string{"check " + chart, "inject " + chart, "diff " + good + " " + chart, "explain -f " + chart},
			want:     []string{chart + ":4: YAML: this is a template of a Helm chart: render the chart, as in `helm template CHART | usher check -`"},
		},
		"no kubeconfig": {
			commands: []string{"drift", "explain deployment/a", "diff --live " + good, "check --cluster " + good, "check --cluster-crds " + good},
			want:     []string{"Error: no kubeconfig was found: pass --kubeconfig FILE, or set KUBECONFIG\n"},
		},
		"a kubeconfig that does not exist": {
			commands: []string{"drift --kubeconfig nowhere", "explain deployment/a --kubeconfig nowhere", "diff --kubeconfig nowhere --live " + good},
			want:     []string{"Error: kubeconfig nowhere does not exist\n"},
		},
		"a server that refuses connections": {
			commands: []string{"drift --kubeconfig " + down, "explain deployment/a --kubeconfig " + down, "diff --kubeconfig " + down + " --live " + good, "check --cluster " + good + " --kubeconfig " + down, "check --cluster-crds " + good + " --kubeconfig " + down},
			want:     []string{listener.Addr().String() + ": connect: connection refused\n", "Check with `kubectl cluster-info` that the API server answers, or select another cluster with --context or --kubeconfig.\n"},
		},
		"a server that does not answer": {
			commands: []string{"drift --request-timeout 100ms --kubeconfig " + silent, "explain deployment/a --request-timeout 100ms --kubeconfig " + silent, "diff --request-timeout 100ms --kubeconfig " + silent + " --live " + good},
			want:     []string{`Get "http://127.0.0.1:`, "xceeded", "Check with `kubectl cluster-info` that the API server answers"},
		},
		"a context that does not exist": {
			commands: []string{"drift --context stagign --kubeconfig " + silent, "explain deployment/a --context stagign --kubeconfig " + silent, "diff --context stagign --live " + good + " --kubeconfig " + silent},
			want:     []string{`context "stagign" does not exist; did you mean staging?`},
		},
		"a forbidden read": {
			commands: []string{"explain deployment/a --as nobody -n " + ns + " --kubeconfig " + c.kubeconfig, "diff --as nobody -n " + ns + " --kubeconfig " + c.kubeconfig + " --live " + good, "check --cluster-crds --as nobody --kubeconfig " + c.kubeconfig + " " + good},
			want:     []string{`User "nobody" cannot`, "Ask an administrator of the cluster for this right, or select another user with --context or --as.\n"},
		},
		"a namespace that does not exist": {
			commands: []string{"drift -n nowhere --kubeconfig " + c.kubeconfig, "explain deployment/a -n nowhere --kubeconfig " + c.kubeconfig, "explain -l app=a -n nowhere --kubeconfig " + c.kubeconfig, "diff -n nowhere --live --kubeconfig " + c.kubeconfig + " " + good},
			want:     []string{`the namespace "nowhere" does not exist: create it, or name another`},
		},
		"an empty standard input": {
			commands: []string{"check -", "inject -", "diff - " + good, "diff " + good + " -", "explain -f -", "migrate -", "explain cronjob -"},
			want:     []string{"standard input contains no manifests: pipe them into usher, and check that the command before it succeeds"},
		},
		"a file without objects": {
			commands: []string{"check " + empty, "inject " + empty, "diff " + empty + " " + good, "explain -f " + empty, "migrate " + empty, "explain cronjob " + empty},
			want:     []string{empty + ": the file contains no manifests: write an object with apiVersion, kind and metadata.name"},
		},
		"a folder without manifests": {
			commands: []string{"check " + folder, "inject " + folder, "diff " + folder + " " + good, "explain -f " + folder, "migrate " + folder, "explain cronjob " + folder},
			want:     []string{folder + ": the folder contains no manifests: write them into files that end in .yaml, .yml or .json"},
		},
		"an empty input that is allowed": {
			commands: []string{"check --allow-empty -", "inject --allow-empty -", "diff --allow-empty - " + good}, status: cli.Clean,
		},
		"no input": {
			commands: []string{"check", "inject", "migrate", "explain cronjob"},
			want:     []string{"Error: name the files or folders to read, or pass - for standard input\n"},
		},
		"two inputs that are standard input": {
			commands: []string{"check - -t -", "inject - -t -", "diff - -", "explain -f - -t -"},
			want:     []string{`standard input ("-") is given twice: write one of the inputs to a file`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want != nil {
				tc.status = cli.Usage
			}
			t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
			t.Setenv("HOME", dir)
			t.Chdir(folder)
			for _, line := range tc.commands {
				status, _, errs := invoke(tc.stdin, strings.Fields(line)...)
				if status != tc.status {
					t.Errorf("usher %s: status %d\n%s", line, status, errs)
				}
				for _, want := range tc.want {
					if !strings.Contains(errs, want) {
						t.Errorf("usher %s: stderr lacks %q:\n%s", line, want, errs)
					}
				}
			}
		})
	}
}
