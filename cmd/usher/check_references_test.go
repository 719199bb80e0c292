package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// selecting is a Service of that name that selects the label app.
func selecting(name, app string) string {
	return strings.NewReplacer("NAME", name, "APP", app).Replace(`apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {selector: {app: APP}, ports: [{port: 80}]}
`)
}

// in puts an object that begins with its metadata's name into a namespace.
func in(namespace, text string) string {
	return strings.Replace(text, "metadata: {", "metadata: {namespace: "+namespace+", ", 1)
}

// TestCheck_References checks Services, of which most select nothing: usher says so only
// where it knows all objects that may be meant.
func TestCheck_References(t *testing.T) {
	const next = "---\n"
	dangling := selecting("website", "website") + next + workload("web", "web")
	custom := func(apiVersion, kind string) string {
		return "---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: a}\n"
	}
	remote := "resources: [all.yaml, 'https://example.com/more']\n"
	for name, c := range map[string]struct {
		files map[string]string
		paths []string
		want  []string // the Services
	}{
		"a file":          {files: map[string]string{"all.yaml": dangling}, want: []string{"website"}},
		"a chart":         {files: map[string]string{"c/Chart.yaml": webChart, "c/templates/svc.yaml": selecting("website", "website"), "c/templates/web.yaml": workload("web", "web")}, want: []string{"website"}},
		"a kustomization": {files: map[string]string{"kustomization.yaml": "resources: [svc.yaml, web.yaml]", "svc.yaml": selecting("website", "website"), "web.yaml": workload("web", "web")}, want: []string{"website"}},

		"an overlay that changes the labels": {files: map[string]string{"all.yaml": dangling, "kustomization.yaml": "resources: [all.yaml]\npatches: [{target: {kind: Deployment}, patch: '[{op: replace, path: /spec/template/metadata/labels/app, value: website}]'}]"}},
		"another file of the folder":         {files: map[string]string{"svc.yaml": selecting("web", "web"), "web.yaml": workload("web", "web")}},
		"a typo in another file":             {files: map[string]string{"svc.yaml": selecting("website", "websitte"), "web.yaml": workload("web", "website")}, want: []string{"website"}},
		"no relation to the other files":     {files: map[string]string{"svc.yaml": selecting("agent", "agent"), "web.yaml": workload("web", "web")}},
		"another folder":                     {files: map[string]string{"a/all.yaml": dangling, "b/web.yaml": workload("website", "website")}},
		"another namespace":                  {files: map[string]string{"all.yaml": in("a", selecting("web", "web")) + next + in("b", workload("web", "web"))}, want: []string{"web"}},
		"a namespace that kubectl sets":      {files: map[string]string{"all.yaml": in("a", selecting("web", "web")) + next + workload("web", "web")}},
		"a base":                             {files: map[string]string{"base/kustomization.yaml": "resources: [all.yaml]", "base/all.yaml": dangling}},
		"a component":                        {files: map[string]string{"debug/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [all.yaml]", "debug/all.yaml": dangling}},
		"a remote resource":                  {files: map[string]string{"kustomization.yaml": remote, "all.yaml": dangling}},
		"a missing dependency": {files: map[string]string{
			"c/Chart.yaml": webChart + "dependencies: [{name: db, version: 1.0.0, repository: 'https://example.com'}]\n", "c/templates/all.yaml": dangling,
		}},
		"a template in the folder":             {files: map[string]string{"all.yaml": dangling, "more.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Name }}}\n"}},
		"a custom resource":                    {files: map[string]string{"all.yaml": dangling + custom("example.com/v1", "Website")}},
		"a workload in an old version":         {files: map[string]string{"all.yaml": dangling + custom("extensions/v1beta1", "Deployment")}},
		"a custom resource that makes no pods": {files: map[string]string{"all.yaml": dangling + custom("monitoring.coreos.com/v1", "ServiceMonitor")}, want: []string{"website"}},
		"some files of a folder":               {files: map[string]string{"all.yaml": dangling, "more.yaml": workload("website", "website")}, paths: []string{"all.yaml"}},
		"the only file of a folder":            {files: map[string]string{"app/all.yaml": dangling, "more.yaml": workload("other", "other")}, paths: []string{"app/all.yaml"}, want: []string{"website"}},
		"alternatives, of which one is meant":  {files: map[string]string{"a.yaml": dangling, "b.yaml": workload("web", "website")}},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, c.files)
			if c.paths == nil {
				c.paths = []string{"."}
			}
			_, out, errs := usher(t, "", append([]string{"check", "--rule", "service-selects-nothing", "-o", "json"}, c.paths...)...)
			var report struct {
				Findings []struct{ Name string }
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatalf("%v: %s%s", err, out, errs)
			}
			var got []string
			for _, f := range report.Findings {
				got = append(got, f.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Services that select nothing (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheck_References_AreOffByDefault checks with the group, with the configuration and
// without.
func TestCheck_References_AreOffByDefault(t *testing.T) {
	for name, c := range map[string]struct {
		configuration string
		args          []string
		want          bool
	}{
		"by default":        {},
		"the flag":          {args: []string{"--group", "references"}, want: true},
		"the configuration": {configuration: "policies: {groups: [references]}\n", want: true},
		"another group":     {args: []string{"--group", "security"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{".usher.yaml": c.configuration, "all.yaml": selecting("website", "website") + "---\n" + workload("web", "web")})
			_, out, _ := usher(t, "", append([]string{"check", "--level", "baseline", "."}, c.args...)...)
			if strings.Contains(out, "service-selects-nothing") != c.want {
				t.Errorf("found: %t, want %t:\n%s", !c.want, c.want, out)
			}
		})
	}
}

// TestCheck_References_OfAlternatives: an Ingress leads to the Service in its own file.
func TestCheck_References_OfAlternatives(t *testing.T) {
	ingress := func(port string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: {defaultBackend: {service: {name: web, port: {number: " + port + "}}}}\n---\n"
	}
	folder(t, map[string]string{
		"a.yaml": ingress("80") + selecting("web", "web"), "b.yaml": ingress("8080") + strings.Replace(selecting("web", "web"), "port: 80", "port: 8080", 1),
		"c.yaml": ingress("8080") + selecting("web", "web"),
	})
	_, out, _ := usher(t, "", "check", "--rule", "ingress-backend", ".")
	if want := "c.yaml:4:53: baseline: "; !strings.HasPrefix(out, want) || strings.Count(out, "\n") != 1 {
		t.Errorf("found %s, want one finding that begins with %s", out, want)
	}
}
