package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

const initializers = `apiVersion: admissionregistration.k8s.io/v1alpha1
kind: InitializerConfiguration
metadata:
  name: envoy-config
initializers:
  - name: envoy.initializer.kubernetes.io
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        resources: [pods]
`

func TestMigrate(t *testing.T) {
	mixed := filepath.Join("testdata", "migrate", "mixed.yaml")
	slashes := filepath.Join("testdata", "migrate", "slash-comments.yaml")
	tests := map[string]struct {
		in     string
		args   []string
		status int
		names  []string // of the configurations on stdout
		err    string
	}{
		"a configuration on standard input": {initializers, []string{"-f", "-"}, cli.Clean, []string{"envoy-config"},
			"1 converted, 0 skipped, 0 problems, 0 reading errors\n"},
		"JSON": {`{"apiVersion":"admissionregistration.k8s.io/v1alpha1","kind":"InitializerConfiguration","metadata":{"name":"a"},
			"initializers":[{"name":"a.b.c","rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}]}`,
			[]string{"-f", "-"}, cli.Clean, []string{"a"},
			"1 converted, 0 skipped, 0 problems, 0 reading errors\n"},
		"comments that YAML does not have, on a line of their own and behind a value": {"", []string{"-f", slashes}, cli.Usage, nil,
			slashes + ":6: YAML: // does not start a comment; write #\n" +
				slashes + ":10: YAML: // does not start a comment; write #\n" +
				"0 converted, 0 skipped, 0 problems, 2 reading errors\n"},
		"a comment that became part of a value": {strings.Replace(initializers, "[pods]", "[pods // all]", 1), []string{"-f", "-"}, cli.Failed, nil,
			"-:10:21: initializers[0].rules[0].resources[0]: \"pods // all\" is part of the value from // on; write # for a comment\n" +
				"-:6:5: initializers[0]: no rules remain, so envoy.initializer.kubernetes.io is omitted\n" +
				"0 converted, 0 skipped, 2 problems, 0 reading errors\n"},
		"several documents, of which some are none of ours or wrong": {"", []string{"-f", mixed}, cli.Failed, []string{"first", "second"},
			mixed + ":12: deployment/app is not an InitializerConfiguration; skipped\n" +
				mixed + ":17: not a Kubernetes object; skipped\n" +
				mixed + ":26:5: initializers[0].rulez: not a field of this object\n" +
				mixed + ":36:9: initializers[0].name: \"envoy\" is not a name of an initializer; write lower case letters and digits with at least two dots, as in envoy.initializer.kubernetes.io\n" +
				"2 converted, 2 skipped, 2 problems, 0 reading errors\n"},
		"a broken document does not hide the others, and wins": {initializers + "---\nx: [\n---\nkind: Pod\napiVersion: v1\n", []string{"-f", "-"}, cli.Usage, []string{"envoy-config"},
			"-:12: YAML: a list or mapping is not complete: write a value, and close each [ and {\n" +
				"-:13: pod/ is not an InitializerConfiguration; skipped\n" +
				"1 converted, 1 skipped, 0 problems, 1 reading error\n"},
		"two files": {initializers, []string{"-f", "-", "-f", "absent.yaml"}, cli.Usage, []string{"envoy-config"},
			"absent.yaml: no such file or directory\n" +
				"1 converted, 0 skipped, 0 problems, 1 reading error\n"},
		"objects of other kinds are not a failure": {"kind: Pod\napiVersion: v1\nmetadata: {name: p}\n", []string{"-f", "-"}, cli.Clean, nil,
			"-:1: pod/p is not an InitializerConfiguration; skipped\n" +
				"0 converted, 1 skipped, 0 problems, 0 reading errors\n"},
		"a file without any object": {"# nothing\n", []string{"-f", "-"}, cli.Usage, nil,
			"standard input contains no manifests: pipe them into usher, and check that the command before it succeeds\n" +
				"0 converted, 0 skipped, 0 problems, 1 reading error\n"},
		"no file": {"", nil, cli.Usage, nil,
			"Error: name the files or folders to read, or pass - for standard input\n"},
		"standard input as an argument": {initializers, []string{"-"}, cli.Clean, []string{"envoy-config"},
			"1 converted, 0 skipped, 0 problems, 0 reading errors\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, out, errs := usher(t, tc.in, append([]string{"migrate"}, tc.args...)...)
			if status != tc.status {
				t.Errorf("exit status %d, want %d", status, tc.status)
			}
			if diff := cmp.Diff(tc.err, errs); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.names, configurationNames(out)); diff != "" {
				t.Errorf("configurations (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}

func configurationNames(out string) (names []string) {
	for document := range strings.SplitSeq(out, "---\n") {
		_, rest, ok := strings.Cut(document, "\nmetadata:\n  name: ")
		if ok {
			name, _, _ := strings.Cut(rest, "\n")
			names = append(names, name)
		}
	}
	return names
}

func TestMigrateFolder(t *testing.T) {
	if status, _, errs := usher(t, "", "migrate", "-f", t.TempDir()); status != cli.Usage || !strings.Contains(errs, "the folder contains no manifests") {
		t.Errorf("an empty folder: exit status %d, stderr %q", status, errs)
	}
	dir := filepath.Dir(writeFile(t, "a.yaml", initializers))
	status, out, _ := usher(t, "", "migrate", "-f", dir)
	if diff := cmp.Diff([]string{"envoy-config"}, configurationNames(out)); diff != "" || status != cli.Clean {
		t.Errorf("exit status %d, configurations (-want +got):\n%s", status, diff)
	}
}
