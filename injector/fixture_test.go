package injector

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
)

// seedTemplate is the ConfigMap envoy-initializer of 2017, unchanged.
func seedTemplate(t testing.TB) *template.Template {
	t.Helper()
	data, err := os.ReadFile("../deploy/templates/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cm corev1.ConfigMap
	if err := yaml.UnmarshalStrict(data, &cm); err != nil {
		t.Fatal(err)
	}
	return mustParse(t, template.NameOf(cm.Name, cm.Labels), cm.Data[template.ConfigKey], cm.Data[template.OptionsKey])
}

func seedPod(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/myapp-pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return fromYAML(t, string(data))
}

func mustParse(t testing.TB, name, config, options string) *template.Template {
	t.Helper()
	data := map[string]string{template.ConfigKey: config}
	if options != "" {
		data[template.OptionsKey] = options
	}
	tpl, err := template.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func set(templates ...*template.Template) *Set {
	entries := map[string]Entry{}
	for _, t := range templates {
		entries[t.Name] = Entry{Template: t}
	}
	return NewSet(entries)
}

func fromYAML(t testing.TB, text string) []byte {
	t.Helper()
	b, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func toYAML(t testing.TB, object []byte) string {
	t.Helper()
	b, err := yaml.JSONToYAML(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// apply applies the decision's patch, and verifies the two-way merge patch if
// it can express the change.
func apply(t testing.TB, r Request, d *decision.Decision) []byte {
	t.Helper()
	out, err := d.Patch.Apply(r.Object)
	if err != nil {
		t.Fatalf("applying %s to %s: %v", d.Patch.JSON(), r.Object, err)
	}
	return out
}
