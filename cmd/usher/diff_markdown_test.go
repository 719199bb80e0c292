package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write the files of testdata that the tests compare with")

// hostile is text that Markdown, HTML or GitHub would give a meaning.
const hostile = "a|b `c` <b>@team #1\n# [x](https://x.example) </details>"

func TestDiffAsMarkdown(t *testing.T) {
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("testdata", "diff"))
	compare := func(name string, args ...string) {
		t.Run(name, func(t *testing.T) {
			status, out, errs := invoke("", append([]string{"diff", "-o", "markdown", "--fail-on", never}, args...)...)
			if status != cli.Clean || errs != "" {
				t.Errorf("status %d, stderr %q", status, errs)
			}
			golden(t, name+".md", out)
		})
	}
	compare("changes", "changes-old.yaml", "changes-new.yaml")
	compare("etcd", "etcd-old.yaml", "etcd-new.yaml")

	t.Run("hostile", func(t *testing.T) {
		named := func(value string) string {
			return strings.NewReplacer("NAME", string(quoted), "VALUE", value).Replace(`apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: shop}
spec: {clusterIP: 10.0.0.1, externalName: VALUE, ports: [{port: 80}]}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: NAME}, spec: {serviceName: VALUE, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: VALUE}]}}}}
`)
		}
		paths := manifests(t, named("before"), named(string(quoted)))
		status, out, _ := invoke("", "diff", "-o", "markdown", paths[0], paths[1])
		if status != cli.Failed {
			t.Errorf("status %d", status)
		}
		golden(t, "hostile.md", strings.ReplaceAll(out, filepath.Dir(paths[0]), "DIR"))
	})
}

// golden compares with a file of the current folder, which -update writes.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
