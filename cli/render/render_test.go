package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/units"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == WorkerCommand {
		if err := Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// in writes files into a new folder, which becomes the current one.
func in(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func renderer(t *testing.T) *Renderer {
	r := &Renderer{Timeout: time.Minute} // the machine may be busy
	t.Cleanup(r.Close)
	return r
}

// described are the objects of a result, as FILE: TEXT.
func described(r *Result) (objects []string) {
	for _, o := range r.Objects {
		objects = append(objects, o.File+": "+strings.Join(strings.Fields(o.Text), " "))
	}
	return objects
}

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

func TestRender_Units(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		request Request
		want    []string
		notes   []string
		err     string
	}{
		"a chart": {
			files: map[string]string{
				"c/Chart.yaml": chartYAML, "c/values.yaml": "n: 1", "c/templates/a.yaml": "a: {{ .Values.n }}", "c/templates/NOTES.txt": "hello", "c/templates/_x.tpl": "x",
				"c/crds/d.yaml": "crd: 1", "c/charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "c/charts/sub/templates/b.yaml": "b: {{ .Release.Namespace }}",
			},
			request: Request{Kind: units.Chart, Folder: "c", Values: map[string]any{"n": 2}, Namespace: "shop"},
			want:    []string{"c/crds/d.yaml: crd: 1", "c/charts/sub/templates/b.yaml: b: shop", "c/templates/a.yaml: a: 2"},
		},
		"a library chart": {
			files:   map[string]string{"c/Chart.yaml": chartYAML + "type: library\n", "c/templates/a.yaml": "a: 1"},
			request: Request{Kind: units.Chart, Folder: "c"},
		},
		"what the server serves": {
			files:   map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": `a: {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has "example.com/v1/Thing" }} {{ .Capabilities.APIVersions.Has "apps/v1" }}`},
			request: Request{Kind: units.Chart, Folder: "c", KubernetesVersion: "v1.33.0", APIVersions: []string{"example.com/v1", "example.com/v1/Thing"}},
			want:    []string{"c/templates/a.yaml: a: 33 true true"},
		},
		"a dependency that is missing, and one that is off": {
			files: map[string]string{
				"c/Chart.yaml":  chartYAML + "dependencies: [{name: redis, version: 1.0.0, repository: https://example.com}, {name: cache, version: 1.0.0, repository: https://example.com, condition: cache.enabled}]\n",
				"c/values.yaml": "cache: {enabled: false}", "c/templates/a.yaml": "a: 1",
			},
			request: Request{Kind: units.Chart, Folder: "c"},
			want:    []string{"c/templates/a.yaml: a: 1"},
			notes:   []string{"c: rendered without dependencies that its folder does not contain: redis (run helm dependency build)"},
		},
		"a dependency in another folder": {
			files: map[string]string{
				"c/Chart.yaml": chartYAML + "dependencies: [{name: lib, version: 1.0.0, repository: 'file://../lib'}]\n", "c/values.yaml": "lib: {x: 1}",
				"lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\n", "lib/templates/a.yaml": "a: {{ .Values.x }}",
			},
			request: Request{Kind: units.Chart, Folder: "c"},
			want:    []string{"lib/templates/a.yaml: a: 1"},
		},
		"a large file that a template reads": {
			files:   map[string]string{"c/Chart.yaml": chartYAML, "c/files/large.txt": strings.Repeat("x", 1<<20), "c/templates/a.yaml": `a: {{ len (.Files.Get "files/large.txt") }}`},
			request: Request{Kind: units.Chart, Folder: "c"},
			want:    []string{"c/templates/a.yaml: a: 1048576"},
		},
		"a lookup": {
			files:   map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": `a: {{ len (lookup "v1" "Secret" "default" "x") }}`},
			request: Request{Kind: units.Chart, Folder: "c"},
			want:    []string{"c/templates/a.yaml: a: 0"},
			notes:   []string{"c: lookup in templates/a.yaml finds nothing, because usher does not read a cluster"},
		},
		"values that do not fit the schema": {
			files:   map[string]string{"c/Chart.yaml": chartYAML, "c/values.yaml": "size: a", "c/values.schema.json": `{"properties": {"size": {"type": "integer"}}}`},
			request: Request{Kind: units.Chart, Folder: "c"},
			err:     "the values do not meet the schema of the chart web: size is a text; write a whole number",
		},
		"a template that does not render": {
			files:   map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": "a: 1\nb: {{ required \"n is missing\" .Values.n }}"},
			request: Request{Kind: units.Chart, Folder: "c"},
			err:     "templates/a.yaml:2:6",
		},
		"a chart without a name": {
			files: map[string]string{"c/Chart.yaml": "apiVersion: v2\n"}, request: Request{Kind: units.Chart, Folder: "c"}, err: "chart.metadata.name is required",
		},
		"a kustomization": {
			files:   map[string]string{"base/kustomization.yaml": "resources: [a.yaml]", "base/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", "over/kustomization.yaml": "resources: [../base]\nnamePrefix: x-\nconfigMapGenerator: [{name: g, literals: [a=b]}]"},
			request: Request{Kind: units.Kustomization, Folder: "over"},
			want: []string{
				`base/a.yaml: {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x-a"}}`,
				`over/kustomization.yaml: {"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"x-g-4h2mbtbbt6"}}`,
			},
		},
		"annotations of the source are kept": {
			files:   map[string]string{"k/Kustomization": "resources: [a.yaml]\nbuildMetadata: [managedByLabel]", "k/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {b: c}}"},
			request: Request{Kind: units.Kustomization, Folder: "k"},
			want:    []string{`k/a.yaml: {"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"b":"c"},"labels":{"app.kubernetes.io/managed-by":"kustomize-(devel)"},"name":"a"}}`},
		},
		"resources from elsewhere": {
			files:   map[string]string{"k/kustomization.yaml": "resources: [a.yaml, 'https://example.com/b.yaml', 'github.com/a/b//c?ref=v1', generated.yaml]\nhelmCharts: [{name: x, repo: 'https://example.com'}]", "k/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"},
			request: Request{Kind: units.Kustomization, Folder: "k"},
			want:    []string{`k/a.yaml: {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`},
			notes: []string{
				"k: built without resources that the files do not contain: generated.yaml, github.com/a/b//c?ref=v1, https://example.com/b.yaml",
				"k: built without the charts of helmCharts, which kustomize renders only with --enable-helm",
			},
		},
		"a file outside its root": {
			files:   map[string]string{"k/kustomization.yaml": "resources: [../a.yaml]", "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"},
			request: Request{Kind: units.Kustomization, Folder: "k"}, err: "is not in or below",
		},
		"a cycle": {
			files:   map[string]string{"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../a]"},
			request: Request{Kind: units.Kustomization, Folder: "a"}, err: "cycle detected",
		},
		"a kustomization that cannot be read": {
			files: map[string]string{"k/kustomization.yaml": "resources: ["}, request: Request{Kind: units.Kustomization, Folder: "k"}, err: "invalid Kustomization: yaml: line 1",
		},
		"a file of a generator in the network": {
			files:   map[string]string{"k/kustomization.yaml": "configMapGenerator: [{name: a, files: ['https://example.com/x']}]"},
			request: Request{Kind: units.Kustomization, Folder: "k"}, err: "https://example.com/x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, c.files)
			result, err := renderer(t).Render(t.Context(), c.request)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(c.want, described(result)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.notes, result.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRender_HostileUnits_EndAlone renders units that would need hours, or all memory,
// and then another one.
func TestRender_HostileUnits_EndAlone(t *testing.T) {
	for name, c := range map[string]struct{ template, err string }{
		"endless":          {`{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`, "rendering it takes more than 2s"},
		"memory":           {`{{ until 200000000 | len }}`, "rendering it takes more than 512 MiB of memory"},
		"large result":     {`{{ repeat 150000000 "a" }}`, "it renders to more than 100 MiB"},
		"recursion":        {`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, "rendering template has a nested reference name: a"},
		"text, that fails": {`{{ fail "no" }}`, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, map[string]string{"c/Chart.yaml": chartYAML, "c/templates/a.yaml": c.template, "good/Chart.yaml": chartYAML, "good/templates/a.yaml": "a: 1"})
			r := renderer(t)
			if name == "endless" {
				r.Timeout = 2 * time.Second
			}
			if _, err := r.Render(t.Context(), Request{Kind: units.Chart, Folder: "c"}); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if result, err := r.Render(t.Context(), Request{Kind: units.Chart, Folder: "good"}); err != nil || len(result.Objects) != 1 {
				t.Errorf("the next unit: %v, %v", result, err)
			}
		})
	}
}

// TestRender_ArchiveBomb unpacks a dependency of 10 GB that takes 10 MB.
func TestRender_ArchiveBomb(t *testing.T) {
	in(t, map[string]string{"c/Chart.yaml": chartYAML})
	if err := os.Mkdir("c/charts", 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create("c/charts/bomb-1.0.0.tgz")
	if err != nil {
		t.Fatal(err)
	}
	zip := gzip.NewWriter(f)
	files := tar.NewWriter(zip)
	zeros := bytes.NewReader(make([]byte, 1<<20))
	for i := range 200 {
		if err := files.WriteHeader(&tar.Header{Name: fmt.Sprintf("bomb/%d", i), Mode: 0o600, Size: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		_, _ = zeros.Seek(0, io.SeekStart)
		if _, err := io.Copy(files, zeros); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{files, zip, f} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := renderer(t).Render(t.Context(), Request{Kind: units.Chart, Folder: "c"}); err == nil || !strings.Contains(err.Error(), "maximum") {
		t.Errorf("error %v", err)
	}
}

// TestRender_UsesNoNetwork counts requests at a server that every way of naming a remote
// file leads to, and runs with a git that leaves a trace.
func TestRender_UsesNoNetwork(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprintln(w, `{}`)
	}))
	t.Cleanup(server.Close)
	files := map[string]string{
		"bin/git":              "#!/bin/sh\ntouch " + filepath.Join(t.TempDir(), "ran") + "\n",
		"c/Chart.yaml":         chartYAML,
		"c/templates/a.yaml":   "a: {{ getHostByName \"localhost\" | quote }}",
		"c/values.schema.json": `{"properties": {"n": {"$ref": "URL/n.json"}}}`,
	}
	for _, field := range []string{
		"resources: ['URL/a.yaml', 'URL//b?ref=v1', 'git::URL', 'git@localhost:a/b', 'github.com/a/b']", "bases: ['URL//a?ref=v1']", "components: ['URL//a']", "crds: ['URL/a.json']",
		"configurations: ['URL/a']", "transformers: ['URL/a']", "generators: ['URL/a']", "validators: ['URL/a']", "openapi: {path: 'URL/a'}", "patches: [{path: 'URL/a'}]",
		"patchesStrategicMerge: ['URL/a']", "patchesJson6902: [{path: 'URL/a', target: {kind: A, name: b}}]", "replacements: [{path: 'URL/a'}]",
		"configMapGenerator: [{name: a, files: ['URL/a'], envs: ['URL/b']}]", "secretGenerator: [{name: a, files: ['URL/a']}]", "helmCharts: [{name: a, repo: 'URL'}]",
	} {
		key, _, _ := strings.Cut(field, ":")
		files[key+"/kustomization.yaml"] = field
	}
	for path, text := range files {
		files[path] = strings.ReplaceAll(text, "URL", server.URL)
	}
	in(t, files)
	if err := os.Chmod("bin/git", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(must(os.Getwd()), "bin")+":"+os.Getenv("PATH"))
	r := renderer(t)
	for path := range files {
		kind := units.Kustomization
		switch filepath.Base(path) {
		case "Chart.yaml":
			kind = units.Chart
		case "kustomization.yaml":
		default:
			continue
		}
		result, err := r.Render(t.Context(), Request{Kind: kind, Folder: filepath.Dir(path)})
		if kind == units.Chart && (err != nil || len(result.Notes) != 1 || described(result)[0] != `c/templates/a.yaml: a: ""`) {
			t.Errorf("the chart: %+v, %v", result, err)
		}
	}
	trace := strings.Fields(files["bin/git"])[2]
	if _, err := os.Stat(trace); err == nil || requests.Load() > 0 {
		t.Errorf("%d requests, git ran: %v", requests.Load(), err == nil)
	}
}

func must(path string, err error) string {
	if err != nil {
		panic(err)
	}
	return path
}
