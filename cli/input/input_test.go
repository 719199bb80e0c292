package input

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/render"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == render.WorkerCommand {
		if render.Work(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	chartYAML  = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
	definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}]}\n"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		paths []string
		given *Values
		// docs are the objects, as FILE:LINE KIND/NAME of UNIT, and unjudged the units and
		// templates.
		docs, context, unjudged, notes, errs []string
		definitions, other                   int
	}{
		"a template outside a chart": {
			files:    map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Name }}}\n{{ if .X }}\ndata: {}\n{{ end }}", "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${NAME}'}", "c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '{{ x }}', b: '${Y}'}"},
			docs:     []string{"c.yaml:1 configmap/c of ."},
			unjudged: []string{"template a.yaml", "template b.yaml"},
		},
		"what no server reads": {
			files: map[string]string{"a.json": "{// settings\n\"a\": 1}", "b.yaml": "a: [", "c.yaml": "\t- a"},
			other: 3,
		},
		"broken manifests": {
			files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Pod\n\tmetadata: {}", "b.json": `{"apiVersion": "v1", "kind": "Pod", "metadata": {`},
			errs:  []string{"a.yaml:3: YAML: a tab indents this line: write spaces, because YAML does not allow tabs there", "b.json:1: YAML: a list or mapping is not complete: write a value, and close each [ and {"},
		},
		"a chart that asks for kinds that the tree defines": {
			files: map[string]string{
				"crd.yaml": definition, "c/Chart.yaml": chartYAML,
				"c/templates/a.yaml": "{{ if .Capabilities.APIVersions.Has \"example.com/v1/Thing\" }}\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: {{ .Release.Name }}}\n{{ end }}",
			},
			docs: []string{"c/templates/a.yaml:2 thing/release-name of c", "crd.yaml:1 customresourcedefinition/things.example.com of ."},
		},
		"a chart that does not render, with a definition": {
			files:       map[string]string{"c/Chart.yaml": chartYAML, "c/crds/d.yaml": definition, "c/templates/a.yaml": "{{ fail \"no\" }}", "d.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}"},
			docs:        []string{"d.yaml:1 configmap/d of ."},
			unjudged:    []string{"chart c"},
			definitions: 1,
		},
		"a chart that renders to something else than YAML": {
			files:    map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": "a: [", "c/templates/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}"},
			docs:     []string{"c/templates/b.yaml:1 configmap/b of c"},
			unjudged: []string{"chart c"},
		},
		"values for one chart": {
			files: map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Values.x }}'}"},
			given: &Values{Name: "x=y", Values: map[string]any{"x": "y"}},
			docs:  []string{"c/templates/a.yaml:1 configmap/y of c (x=y)"},
		},
		"values for two charts": {
			files: map[string]string{"c/Chart.yaml": chartYAML, "d/Chart.yaml": chartYAML},
			given: &Values{Name: "x=y"},
			errs:  []string{"--values and --set are for one chart, and the input has 2; write the values of each into charts in .usher.yaml"},
		},
		"a named template of a chart": {
			files:   map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", "c/templates/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}"},
			paths:   []string{"c/templates/a.yaml"},
			docs:    []string{"c/templates/a.yaml:1 configmap/a of c"},
			context: []string{"c/templates/b.yaml:1 configmap/b of c"},
		},
		"named values of a chart": {
			files: map[string]string{"c/Chart.yaml": chartYAML, "c/values.yaml": "a: b", "c/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"},
			paths: []string{"c/values.yaml"},
			docs:  []string{"c/templates/a.yaml:1 configmap/a of c"},
		},
		"a named part of templates": {
			files: map[string]string{"c/Chart.yaml": chartYAML, "c/templates/_a.yaml": "{{ define \"a\" }}a{{ end }}", "c/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include \"a\" . }}}"},
			paths: []string{"c/templates/_a.yaml"},
			docs:  []string{"c/templates/a.yaml:1 configmap/a of c"},
		},
		"a named folder of a chart": {
			files:   map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", "c/templates/b/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}"},
			paths:   []string{"c/templates/b"},
			docs:    []string{"c/templates/b/b.yaml:1 configmap/b of c"},
			context: []string{"c/templates/a.yaml:1 configmap/a of c"},
		},
		"a named file of a kustomization that cannot be built": {
			files: map[string]string{"k/kustomization.yaml": "resources: [a.yaml, ../b.yaml]", "k/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}"},
			paths: []string{"k/a.yaml"},
			docs:  []string{"k/a.yaml:1 configmap/a of k"},
		},
		"an overlay": {
			files: map[string]string{
				"base/kustomization.yaml": "resources: [a.yaml]", "base/a.yaml": "# the first\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
				"over/kustomization.yaml": "resources: [../base]\nnamePrefix: x-",
			},
			docs: []string{"base/a.yaml:2 configmap/x-other of over", "base/a.yaml:6 configmap/x-a of over"},
		},
		"hidden files": {files: map[string]string{".github/a.yaml": "a: 1"}, notes: []string{"files in hidden folders or with hidden names, which usher reads only when they are named: 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for path, text := range c.files {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.paths == nil {
				c.paths = []string{"."}
			}
			renderer := &render.Renderer{}
			t.Cleanup(renderer.Close)
			in, problems := Read(t.Context(), c.paths, strings.NewReader(""), Options{Renderer: renderer, Namespace: "default", Given: c.given})
			var docs, context, unjudged, errs []string
			other := 0
			for _, s := range in.Sources {
				for _, d := range s.Docs {
					line, _ := d.Position("")
					docs = append(docs, fmt.Sprintf("%s:%d %s of %s", d.File, line, d, d.Unit))
				}
				for _, d := range s.Context {
					line, _ := d.Position("")
					context = append(context, fmt.Sprintf("%s:%d %s of %s", d.File, line, d, d.Unit))
				}
				for _, err := range s.Errs {
					errs = append(errs, err.Error())
				}
				other += len(s.Other)
			}
			for _, err := range problems {
				errs = append(errs, err.Error())
			}
			for _, u := range in.Unjudged {
				if u.Reason == "" {
					t.Errorf("%s %s: no reason", u.Kind, u.Path)
				}
				unjudged = append(unjudged, u.Kind+" "+u.Path)
			}
			for what, diff := range map[string]string{
				"objects": cmp.Diff(c.docs, docs), "context": cmp.Diff(c.context, context), "not judged": cmp.Diff(c.unjudged, unjudged), "notes": cmp.Diff(c.notes, in.Notes),
				"errors": cmp.Diff(c.errs, errs), "definitions": cmp.Diff(c.definitions, len(in.Definitions)), "other texts": cmp.Diff(c.other, other),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func TestTemplatePlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	source := "{{- if .Values.on }}\nkind: A\nspec:\n  image: {{ .Values.image }}\n  list:\n  {{- range .Values.list }}\n  - name: {{ . }}\n  {{- end }}\n{{- end }}\nkind: B\nspec:\n  image: b\n"
	if err := os.WriteFile("a.yaml", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &templatePlaces{file: "a.yaml", rendered: "kind: A\nspec:\n  image: x\n  list:\n  - name: one\n  - name: two\nkind: B\nspec:\n  image: b\n"}
	for line, want := range map[int][2]int{1: {2, 1}, 2: {3, 1}, 3: {4, 3}, 4: {5, 3}, 5: {}, 6: {}, 7: {10, 1}, 8: {11, 1}, 9: {12, 3}, 10: {}, 0: {}} {
		if l, c := p.Place("", line); l != want[0] || c != want[1] {
			t.Errorf("line %d is at %d:%d, want %v", line, l, c, want)
		}
	}
	gone := &templatePlaces{file: "none.yaml", rendered: "a: 1"}
	if l, c := gone.Place("", 1); l != 0 || c != 0 {
		t.Errorf("without a source: %d:%d", l, c)
	}
}
