package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// troubled has findings of three levels, in two namespaces and folders.
var troubled = map[string]string{
	"shop/jobs.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: report
  namespace: shop
spec:
  template:
    spec:
      restartPolicy: Always
      containers:
      - name: report
        image: registry.example/report:1.0
        env:
        - name: TOKEN
          value: hunter2
`,
	"web/pods.yaml": `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: web
  annotations:
    policy.usher.dev/exempt: sa-default
    policy.usher.dev/exempt-reason: it needs the token
spec:
  containers:
  - name: web
    image: registry.example/web:1.0
---
just: values
`,
	".usher.yaml": `policies:
  warn: strict
  exemptions: {allowed: true}
`,
}

func TestCheckAsHTML(t *testing.T) {
	files := map[string]string{"broken.yaml": "apiVersion: v1\nkind: ["}
	for path, text := range troubled {
		files[path] = text
	}
	folder(t, files)
	status, out, errs := invoke("", "check", "-o", "html=report.html", ".")
	if status != cli.Usage || !strings.Contains(errs, "broken.yaml") || !strings.Contains(out, "shop/jobs.yaml:9:7: invariant: ") {
		t.Errorf("status %d, stdout %q, stderr %q", status, out, errs)
	}
	text, err := os.ReadFile("report.html")
	if err != nil {
		t.Fatal(err)
	}
	page := parsed(t, string(text))
	facets := map[string][]string{}
	for _, facet := range page.all("[data-facet]") {
		facets[facet.attribute("data-facet")] = facet.words("a")
	}
	want := map[string][]string{
		"level": {"invariant 1", "strict 5", "exempt 1"},
		"rule":  {"job-restart-policy 1", "pod-no-memory-request 2", "sa-default 2", "job-no-deadline 1", "job-ttl 1"},
		"ns":    {"shop 5", "web 2"},
		"unit":  {"shop 5", "web 2"},
	}
	if diff := cmp.Diff(want, facets); diff != "" {
		t.Errorf("facets (-want +got):\n%s", diff)
	}
	first := page.all("[data-item]")[0]
	for _, want := range []string{"Job/report shop", "spec.template.spec.restartPolicy: Required value", "shop/jobs.yaml:9:7", "restartPolicy: Always", "In the cluster the object is denied."} {
		if !strings.Contains(first.text(), want) {
			t.Errorf("the first finding has no %q: %s", want, first.text())
		}
	}
	if mark := first.words("mark"); !slices.Equal(mark, []string{"9 restartPolicy: Always"}) {
		t.Errorf("marked: %q", mark)
	}
	source := " 7    template:\n 8      spec:\n 9        restartPolicy: Always\n10        containers:\n11        - name: report"
	if diff := cmp.Diff([]string{source}, first.texts("pre")); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	all := page.text()
	for _, want := range []string{
		"The check is incomplete", "broken.yaml:2: YAML", "1 skipped: not a Kubernetes object", "Exempt: it needs the token",
		"the API server refuses the object: a Job whose pods are always restarted would never complete", "write restartPolicy: Never",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(string(text), "hunter2") {
		t.Error("the page contains the value of a variable")
	}
	for name, h := range map[string]int{"h1": 1, "main": 1, "search": 1, "header": 1, "footer": 1} {
		if got := len(page.all(name)); got != h {
			t.Errorf("%d elements <%s>", got, name)
		}
	}
}

func TestCheckAsHTML_OnStandardOutput(t *testing.T) {
	folder(t, map[string]string{"pod.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	status, out, _ := invoke("", "check", "-o", "html", ".")
	page := parsed(t, out)
	if status != cli.Clean || !strings.Contains(page.text(), "usher found nothing to report.") || len(page.all("[data-item]")) > 0 {
		t.Errorf("status %d: %s", status, page.text())
	}
	status, out, errs := invoke("", "check", "-o", "html=no/such/report.html", ".")
	if status != cli.Usage || out != "" || !strings.Contains(errs, "writing the results as html: no/such/report.html: no such file or directory") {
		t.Errorf("status %d, stdout %q, stderr %q", status, out, errs)
	}
}

// TestCheckAsHTML_HostileManifest writes markup everywhere a manifest and its path can
// have it. Markup that reached the page as markup would be an element that parsed
// does not know, a link, or a second script.
func TestCheckAsHTML_HostileManifest(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, text := range map[string]string{
		"markup":     `"><img src=x onerror=alert(1)><script>alert(1)</script>`,
		"the end":    `</script></style></pre></title></textarea><!--`,
		"attributes": `' onload=alert(1) x="{{.}}" ` + "`${alert(1)}`",
		"a link":     `javascript:alert(1)`,
		"direction":  "\u202eevil\u202c\u2066\u200f\u0007",
		"length":     long,
	} {
		t.Run(name, func(t *testing.T) {
			quoted := fmt.Sprintf("%q", text)
			key := fmt.Sprintf("%q", text[:min(len(text), 900)]) // YAML limits the length of keys
			manifest := strings.NewReplacer("X", quoted, "KEY", key).Replace(`apiVersion: batch/v1
kind: Job
metadata: {name: X, namespace: X, labels: {KEY: X}, annotations: {KEY: X}}
spec:
  KEY: X
  template: {spec: {restartPolicy: X, containers: [{name: X, image: X, env: [{name: X}]}]}}
---
{apiVersion: X, kind: X, metadata: {name: X, namespace: X}}
`)
			file := "a.yaml"
			if !strings.Contains(text, "/") && len(text) < 200 {
				file = text + ".yaml"
			}
			folder(t, map[string]string{file: manifest})
			_, out, _ := invoke("", "check", "--level", "strict", "--unknown-kinds", "fail", "-o", "html", "./"+file)
			page := parsed(t, out)
			if len(page.all("[data-item]")) < 3 {
				t.Errorf("findings: %s", page.text())
			}
			if strings.ContainsAny(out, "\u202e\u202c\u2066\u200f\u0007") {
				t.Error("the page contains control characters")
			}
			if len(out) > 200_000 {
				t.Errorf("the page has %d bytes", len(out))
			}
			if name != "length" && name != "direction" && !strings.Contains(page.text(), text) {
				t.Errorf("the page does not show the name")
			}
		})
	}
}

// TestCheckAsHTML_ManyFindings keeps a page with 5,000 findings below 5 MB, of files in
// deep folders.
func TestCheckAsHTML_ManyFindings(t *testing.T) {
	var b strings.Builder
	for i := range 1300 {
		fmt.Fprintf(&b, "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly-report-%d, namespace: team-%d}\nspec:\n  schedule: '0 3 * * *'\n  jobTemplate:\n    spec:\n      template:\n        spec:\n"+
			"          restartPolicy: Always\n          containers:\n          - {name: report, image: 'registry.example.com/team/report:1.0', resources: {limits: {memory: 100Mi}}}\n", i, i%40)
	}
	file := "clusters/production/europe-west/apps/reports.yaml"
	folder(t, map[string]string{file: b.String()})
	status, out, errs := invoke("", "check", "--level", "strict", "-o", "html", ".")
	if n := strings.Count(out, "<li data-item"); status != cli.Failed || n < 5000 {
		t.Errorf("status %d, %d findings, %s", status, n, errs)
	}
	if len(out) > 5_000_000 {
		t.Errorf("the page has %d bytes", len(out))
	}
	t.Logf("%d bytes", len(out))
}
