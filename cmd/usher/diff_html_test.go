package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func TestDiffAsHTML(t *testing.T) {
	t.Chdir(filepath.Join("testdata", "diff"))
	file := filepath.Join(t.TempDir(), "change.html")
	status, out, errs := invoke("", "diff", "-o", "html="+file, "changes-old.yaml", "changes-new.yaml")
	if status != cli.Failed || !strings.HasPrefix(out, "Deployment shop/web: irreversible\n") || errs != "" {
		t.Errorf("status %d, stdout %q, stderr %q", status, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := parsed(t, string(text))
	want := []string{
		"Deployment shop/web irreversible changes-new.yaml:1", "StatefulSet shop/db recreate changes-new.yaml:19",
		"Service shop/new created changes-new.yaml:14", "Service shop/old deleted changes-old.yaml:14",
	}
	var got []string
	for _, item := range page.all("[data-item]") {
		title := item.words("summary")
		if len(title) == 0 {
			title = item.words("div")
		}
		got = append(got, title[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	cells := page.all("[data-item]")[0].words("td")
	wantCells := []string{
		"spec.revisionHistoryLimit: 3 → 0 changes-new.yaml:6",
		"irreversible: deletes every old ReplicaSet: no rollback is possible, and raising the limit does not bring them back (deploy-history-zero)",
		"usher, where baseline is enforced",
		`spec.template.spec.containers[0].image: "registry.example/web:1.0" → "registry.example/web:1.1" changes-new.yaml:12` +
			`spec.template.spec.containers[1].image: "registry.example/cache:1.0" → "registry.example/cache:1.1" changes-new.yaml:13`,
		"rollout of 5 pods: replaces every pod with one from the new template, at the pace of the update strategy", "the Deployment controller",
		"spec.replicas: 3 → 5 changes-new.yaml:5", "in place", "the API server",
	}
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if commands := page.all("[data-item]")[1].words("pre"); !slices.ContainsFunc(commands, func(c string) bool {
		return strings.HasPrefix(c, "kubectl -n shop delete statefulset db --cascade=orphan")
	}) {
		t.Errorf("commands: %q", commands)
	}
}

func TestDiffAsHTML_Plan(t *testing.T) {
	files := manifests(t, etcdCluster, strings.Replace(etcdCluster, "3.6.16", "3.7.3", 1))
	_, out, _ := invoke("", "diff", "-o", "html", files[0], files[1])
	page := parsed(t, out)
	if steps := page.words("ol"); len(steps) != 1 || !strings.HasPrefix(steps[0], "have main-2 run 3.7.3 (margin 1, 0 meanwhile)") {
		t.Errorf("steps: %q", steps)
	}
	if !strings.Contains(page.text(), "rollout of 3 pods") {
		t.Error("the page does not say how many pods change")
	}
}

func TestDiffAsHTML_WithoutChanges(t *testing.T) {
	files := manifests(t, etcdCluster, etcdCluster, "a: [")
	status, out, _ := invoke("", "diff", "-o", "html", files[0], files[1])
	if page := parsed(t, out); status != cli.Clean || !strings.Contains(page.text(), "Nothing changes.") {
		t.Errorf("status %d: %s", status, page.text())
	}
	status, out, _ = invoke("", "diff", "-o", "html", files[0], files[2])
	page := parsed(t, out)
	if status != cli.Usage || !slices.Equal(page.words("h1"), []string{"The comparison is incomplete"}) || !strings.Contains(page.text(), "c.yaml:1: YAML") {
		t.Errorf("status %d: %s", status, page.text())
	}
}

func TestDiffAsHTML_HostileManifest(t *testing.T) {
	for name, text := range map[string]string{
		"markup":    `"><img src=x onerror=alert(1)><script>alert(1)</script>`,
		"the end":   `</script></style></pre></code><!--`,
		"direction": "\u202eevil\u2066\u200f\u0007",
		"length":    strings.Repeat("x", 50_000),
	} {
		t.Run(name, func(t *testing.T) {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			named := func(value string) string {
				return strings.NewReplacer("NAME", string(quoted), "VALUE", value).Replace(`apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAME}
spec: {clusterIP: 10.0.0.1, externalName: VALUE, ports: [{port: 80}]}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: NAME}, spec: {serviceName: VALUE, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: VALUE}]}}}}
---
{apiVersion: NAME, kind: NAME, metadata: {name: NAME}, a: VALUE}
`)
			}
			paths := manifests(t, named("before"), named(string(quoted)))
			status, out, _ := invoke("", "diff", "-o", "html", paths[0], paths[1])
			page := parsed(t, out)
			if status != cli.Failed || len(page.all("[data-item]")) != 3 {
				t.Errorf("status %d: %s", status, page.text())
			}
			if strings.ContainsAny(out, "\u202e\u2066\u200f\u0007") || len(out) > 200_000 {
				t.Errorf("%d bytes, or control characters", len(out))
			}
		})
	}
}
