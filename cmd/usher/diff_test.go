package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

const (
	oldManifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  revisionHistoryLimit: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: registry.example/web:1.0}
---
apiVersion: v1
kind: Service
metadata: {name: old, namespace: shop}
spec: {ports: [{port: 80}]}
`
	newManifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  revisionHistoryLimit: 0
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1.1
---
apiVersion: v1
kind: Service
metadata: {name: new, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
just: values
`
)

// manifests writes manifests into a folder and returns their paths.
func manifests(t *testing.T, contents ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i, content := range contents {
		path := filepath.Join(dir, string(rune('a'+i))+".yaml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func invoke(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), args, streams{strings.NewReader(stdin), &out, &errs})
	return status, out.String(), errs.String()
}

func TestDiffTellsWhatBecomesOfAChange(t *testing.T) {
	paths := manifests(t, oldManifests+"---\n"+widget, newManifests)
	status, out, errs := invoke("", "diff", paths[0], paths[1])
	want := `Deployment shop/web: irreversible
  NEW:6:3  spec.revisionHistoryLimit: 3 → 0
    irreversible, denied by usher where baseline is enforced [deploy-history-zero]: deletes every old ReplicaSet: no rollback is possible, and raising the limit does not bring them back
      1. keep at least one old revision: revisionHistoryLimit: 1
  NEW:12:9  spec.template.spec.containers[0].image: "registry.example/web:1.0" → "registry.example/web:1.1"
    rollout: replaces every pod with one from the new template, at the pace of the update strategy
Service shop/new: created
Service shop/old: deleted
1 irreversible, 1 unchanged, 1 created, 1 deleted, 1 not Kubernetes objects
`
	if diff := cmp.Diff(want, strings.ReplaceAll(out, paths[1], "NEW")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if status != cli.Failed || errs != "" {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

func TestDiffExitStatus(t *testing.T) {
	paths := manifests(t, oldManifests, newManifests,
		strings.Replace(oldManifests, "web:1.0", "web:2.0", 1), "a: [", strings.Replace(oldManifests, "apps/v1", "apps/v2", 1))
	old, zero, image, broken, version := paths[0], paths[1], paths[2], paths[3], paths[4]
	tests := map[string]struct {
		args  []string
		want  int
		error string
	}{
		"nothing changed":                     {args: []string{old, old}},
		"a rollout is not a finding":          {args: []string{old, image}},
		"unless asked for":                    {args: []string{old, image, "--fail-on", "rollout"}, want: 1},
		"in steps is written either way":      {args: []string{old, image, "--fail-on", "in-steps"}},
		"what is lost for good is":            {args: []string{old, zero}, want: 1},
		"but not where nothing is":            {args: []string{old, zero, "--fail-on", "never"}},
		"nor below the threshold":             {args: []string{old, zero, "--fail-on", "refused"}},
		"input that cannot be read wins":      {args: []string{old, broken}, want: 2, error: "YAML"},
		"an absent file":                      {args: []string{old, old + "x"}, want: 2, error: "no such file"},
		"one argument":                        {args: []string{old}, want: 2, error: "needs the old and the new manifests"},
		"three arguments":                     {args: []string{old, old, old}, want: 2, error: "takes two paths, but got 3"},
		"live without arguments":              {args: []string{"--live"}, want: 2, error: "needs the manifests to compare with the cluster"},
		"live without a cluster":              {args: []string{"--live", old, "--kubeconfig", old + "x"}, want: 2, error: "kubeconfig " + old + "x does not exist"},
		"standard input twice":                {args: []string{"-", "-"}, want: 2, error: "is given twice"},
		"an unknown output":                   {args: []string{old, old, "-o", "xml"}, want: 2, error: `--output is "xml"; write text, json, yaml, markdown or html`},
		"an unknown outcome":                  {args: []string{old, old, "--fail-on", "x"}, want: 2, error: `--fail-on is "x"; write in-place, rollout,`},
		"text that is not a version":          {args: []string{old, old, "--kubernetes-version", "x"}, want: 2, error: "is not a version"},
		"an older server":                     {args: []string{old, image, "--kubernetes-version", "1.30"}, error: "validation is that of Kubernetes 1.30"},
		"a pair of two versions of one group": {args: []string{old, version}, want: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, _, errs := invoke("", append([]string{"diff"}, tc.args...)...)
			if status != tc.want || !strings.Contains(errs, tc.error) || tc.error == "" && errs != "" {
				t.Errorf("status %d, stderr %q; want %d, %q", status, errs, tc.want, tc.error)
			}
		})
	}
}

func TestDiffInJSONAndYAML(t *testing.T) {
	paths := manifests(t, oldManifests)
	status, out, errs := invoke(newManifests, "diff", paths[0], "-", "-o", "json")
	var report diffReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != cli.Failed || errs != "" {
		t.Fatalf("status %d, %v, stderr %q:\n%s", status, err, errs, out)
	}
	first := report.Objects[0].Changes[0]
	got := []any{first.Row, first.Path, first.From, first.To, first.File, first.Line, first.Column, first.Level}
	want := []any{"deploy-history-zero", "spec.revisionHistoryLimit", 3.0, 0.0, "-", 6, 3, first.Level}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first change (-want +got):\n%s", diff)
	}
	if report.Skipped != 1 || report.Summary[actionCreated] != 2 || report.Summary[actionDeleted] != 1 {
		t.Errorf("skipped %d, summary %v", report.Skipped, report.Summary)
	}
	if _, out, _ := invoke(newManifests, "diff", paths[0], "-", "-o", "yaml"); !strings.HasPrefix(out, "objects:\n- action: changed\n") {
		t.Errorf("YAML: %s", out)
	}
}

func TestAnObjectGivenTwiceIsAnError(t *testing.T) {
	paths := manifests(t, oldManifests+"---\n"+oldManifests, oldManifests)
	status, _, errs := invoke("", "diff", paths[0], paths[1])
	if status != cli.Usage || !strings.Contains(errs, "a.yaml:17: deployment/web is already at") {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

func TestTransitions(t *testing.T) {
	tests := map[string]struct {
		args   []string
		status int
		out    string
		err    string
	}{
		"every kind":            {out: "ClusterRoleBinding"},
		"one kind, in any case": {args: []string{"statefulset"}, out: "sts-pvc-delete"},
		"its plural":            {args: []string{"cronjobs"}, out: "cronjob-unsuspend"},
		"as data":               {args: []string{"Job", "-o", "json"}, out: `"id": "job-template"`},
		"as YAML":               {args: []string{"Job", "-o", "yaml"}, out: "id: job-template"},
		"as the document":       {args: []string{"-o", "markdown"}, out: "### svc-cluster-ip\n"},
		"an unknown kind":       {args: []string{"Widget"}, status: 2, err: "write Deployment, ReplicaSet"},
		"a misspelt kind":       {args: []string{"statefullset"}, status: 2, err: "did you mean StatefulSet?"},
		"an unknown output": {
			args: []string{"-o", "xml"}, status: 2, err: "write text, json, yaml or markdown"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, out, errs := invoke("", append([]string{"transitions"}, tc.args...)...)
			if status != tc.status || !strings.Contains(out, tc.out) || !strings.Contains(errs, tc.err) {
				t.Errorf("status %d, stdout %.200q, stderr %q", status, out, errs)
			}
		})
	}
}
