package policies

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/kinds"
)

// sameAsTheServers fails if an object decodes differently from the API server's
// decoder.
func sameAsTheServers(t *testing.T, apiVersion, kind string, raw []byte) {
	t.Helper()
	want := kinds.Find(apiVersion, kind).New()
	if want == nil {
		return
	}
	wantErr := kjson.UnmarshalCaseSensitivePreserveInts(raw, want)
	got, _, err := unmarshal(raw, func() any { return kinds.Find(apiVersion, kind).New() })
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, the API server's decoder says %v", raw, err, wantErr)
	}
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		t.Errorf("%s (-want +got):\n%s", raw, diff)
	}
}

// TestDecode_FindsThePodTemplateOfEveryKind decodes an object of each kind with
// pods: rules judge only the templates that are found.
func TestDecode_FindsThePodTemplateOfEveryKind(t *testing.T) {
	for _, k := range kinds.With(kinds.Pods, 0) {
		var object any = map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "a"}}, "spec": map[string]any{"hostname": "h"}}
		for _, name := range slices.Backward(k.Template()) {
			object = map[string]any{name: object}
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		o := decode(k.APIVersion, k.Name, raw, nil)
		if o.Meta == nil || len(o.Templates) != 1 || o.Templates[0].Meta.Labels["app"] != "a" || o.Templates[0].Spec.Hostname != "h" {
			t.Errorf("%s decodes into the templates %+v", k.Name, o.Templates)
			continue
		}
		if got, want := o.Templates[0].Path.String(), strings.Join(k.Template(), "."); k.Template() != nil && got != want {
			t.Errorf("the template of a %s is at %s, want %s", k.Name, got, want)
		}
	}
}

func TestObjectsDecodeAsInTheAPIServer(t *testing.T) {
	paths, err := filepath.Glob("rules/testdata/*/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			raw, err := yaml.YAMLToJSON([]byte(document))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			var head struct{ APIVersion, Kind string }
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			sameAsTheServers(t, head.APIVersion, head.Kind, raw)
		}
	}
	for name, raw := range map[string]string{
		"a name of other case":         `{"Metadata":{"name":"a"},"spec":{"CONTAINERS":[{}]}}`,
		"a field twice":                `{"metadata":{"name":"a","name":"b"},"metadata":{"namespace":"c"}}`,
		"an item twice":                `{"spec":{"containers":[{"name":"a","image":"b"}],"containers":[{"name":"c"}]}}`,
		"null everywhere":              `{"metadata":null,"spec":{"containers":[null],"volumes":null,"restartPolicy":null,"hostNetwork":null}}`,
		"whole numbers with a point":   `{"spec":{"terminationGracePeriodSeconds":30.0}}`,
		"an exponent":                  `{"spec":{"terminationGracePeriodSeconds":3e1}}`,
		"a number for a string":        `{"metadata":{"name":7}}`,
		"a string for a number":        `{"spec":{"terminationGracePeriodSeconds":"30"}}`,
		"quantities as numbers":        `{"spec":{"containers":[{"resources":{"limits":{"cpu":1,"memory":1.5}}}]}}`,
		"a quantity that is none":      `{"spec":{"containers":[{"resources":{"limits":{"cpu":"one"}}}]}}`,
		"times":                        `{"metadata":{"creationTimestamp":null,"deletionTimestamp":"2026-01-01T00:00:00Z"}}`,
		"managed fields":               `{"metadata":{"managedFields":[{"manager":"a","fieldsV1":{"f:a":{"b":1}},"time":"2026-01-01T00:00:00Z"}]}}`,
		"a string that is not UTF-8":   "{\"metadata\":{\"name\":\"\xff\"}}",
		"half of a surrogate pair":     `{"metadata":{"name":"\ud800"}}`,
		"empty lists and maps":         `{"metadata":{"labels":{},"annotations":{}},"spec":{"containers":[],"volumes":[]}}`,
		"a port by name and by number": `{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":"http"}},"readinessProbe":{"httpGet":{"port":80}}}]}}`,
		"a list for a mapping":         `{"spec":[]}`,
		"no object":                    `[]`,
		"null":                         `null`,
		"nothing":                      ``,
		"something behind":             `{} {}`,
		"a number too large":           `{"spec":{"terminationGracePeriodSeconds":9223372036854775808}}`,
	} {
		t.Run(name, func(t *testing.T) { sameAsTheServers(t, "v1", "Pod", []byte(raw)) })
	}
}

// FuzzUnmarshal compares the two decoders on arbitrary input.
func FuzzUnmarshal(f *testing.F) {
	for _, kind := range []string{"deployment", "job", "cronjob"} {
		text, err := os.ReadFile("benchdata/" + kind + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		raw, err := yaml.YAMLToJSON([]byte(strings.TrimSpace(string(text))))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, kind := range []string{"apps/v1/Deployment", "batch/v1/CronJob"} {
			cut := strings.LastIndexByte(kind, '/')
			sameAsTheServers(t, kind[:cut], kind[cut+1:], raw)
		}
	})
}
