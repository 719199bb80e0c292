package migrate

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/handlers"
)

var update = flag.Bool("update", false, "write what is expected under testdata")

// cases returns the folders of testdata/convert: initializers.yaml is converted
// to webhooks.yaml, with problems.txt.
func cases(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/convert/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return dirs
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func toJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestConvert(t *testing.T) {
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, err := Convert(toJSON(t, read(t, dir, "initializers.yaml")))
			if err != nil {
				t.Fatal(err)
			}
			text, err := m.YAML()
			if err != nil {
				t.Fatal(err)
			}
			var problems strings.Builder
			for _, p := range m.Problems {
				problems.WriteString(p.Error() + "\n")
			}
			for name, got := range map[string]string{"webhooks.yaml": string(text), "problems.txt": problems.String()} {
				if *update {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(string(read(t, dir, name)), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			var parsed admissionv1.MutatingWebhookConfiguration
			if err := yaml.UnmarshalStrict(text, &parsed); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m.Configuration, &parsed); diff != "" {
				t.Errorf("the text is not the configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConvertNamesWhatItCannotRead(t *testing.T) {
	const head = `"apiVersion":"admissionregistration.k8s.io/v1alpha1","kind":"InitializerConfiguration"`
	tests := map[string]struct {
		object, want string
	}{
		"a misspelt field":           {`{` + head + `,"initializers":[{"rulez":[]}]}`, "initializers[0].rulez: not a field of this object"},
		"a string for a list":        {`{` + head + `,"initializers":[{"rules":[{"apiGroups":"apps"}]}]}`, "initializers[0].rules[0].apiGroups: found a string; write a list"},
		"a number for a string":      {`{` + head + `,"initializers":[{"name":1}]}`, "initializers[0].name: found a number; write a string, in quotes"},
		"a list for an object":       {`{` + head + `,"metadata":[]}`, "metadata: found a list; write an object"},
		"labels that are not text":   {`{` + head + `,"metadata":{"name":"a","labels":{"a":true}}}`, "metadata.labels.a: found true, false or null; write a string, in quotes"},
		"no name":                    {`{` + head + `}`, `metadata.name: "" is not a name; write lower case letters, digits, '-' and '.'`},
		"a version it never had":     {`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"InitializerConfiguration"}`, `apiVersion: "admissionregistration.k8s.io/v1" never had initializers; write admissionregistration.k8s.io/v1alpha1`},
		"another kind":               {`{"apiVersion":"admissionregistration.k8s.io/v1alpha1","kind":"Pod"}`, `kind: "Pod"; write InitializerConfiguration`},
		"no JSON":                    {`{`, "unexpected EOF"},
		"no object":                  {`[]`, "found a list; write an object"},
		"nothing in it is a problem": {`{` + head + `,"metadata":{"name":"a"}}`, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Convert([]byte(tc.object))
			got := ""
			if err != nil {
				got = err.Error()
			} else if diff := cmp.Diff([]Problem{{"initializers", "is empty, so there is nothing to convert"}}, m.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRulesOfManyCombinationsAreRefused(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`"a",`, 101), ",")
	m, err := Convert([]byte(`{"apiVersion":"admissionregistration.k8s.io/v1alpha1","kind":"InitializerConfiguration","metadata":{"name":"a"},
		"initializers":[{"name":"a.b.c","rules":[{"apiGroups":[` + many + `],"apiVersions":["v1"],"resources":[` + many + `]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Problem{
		{"initializers[0].rules[0]", "10201 combinations of groups, versions and resources so far; split the configuration"},
		{"initializers[0]", "no rules remain, so a.b.c is omitted"},
	}
	if diff := cmp.Diff(want, m.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// The paths and resources here are those that usher's server handles.
func TestServedIsWhatTheServerDeclares(t *testing.T) {
	want := map[string]map[target]bool{}
	injection := &handlers.Injection{Facts: facts.Of(facts.Stores{
		Templates:  facts.NewTemplates("usher-system", nil, facts.NewMetrics(prometheus.NewRegistry()), logr.Discard()),
		Namespaces: facts.NewNamespaces(nil), Configuration: facts.NewConfiguration(facts.NewMetrics(prometheus.NewRegistry()), logr.Discard()),
		Server: func() *version.Version { return nil }, NativeSidecars: func() bool { return true },
	})}
	for _, handler := range []handlers.Handler{injection.Pods(), injection.Workloads()} {
		want[handler.Path] = map[target]bool{}
		for _, entry := range handler.Webhooks() {
			for _, rule := range entry.Rules {
				for _, resource := range rule.Resources {
					want[handler.Path][target{rule.APIGroups[0], rule.APIVersions[0], resource}] = true
				}
			}
		}
	}
	everything := map[string][]target{}
	target{wildcard, wildcard, wildcard}.servedByUsher(everything)
	got := map[string]map[target]bool{}
	for path, targets := range everything {
		got[path] = map[target]bool{}
		for _, t := range targets {
			got[path][t] = true
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("served (-server +here):\n%s", diff)
	}
}

func FuzzConvert(f *testing.F) {
	dirs, _ := filepath.Glob("testdata/convert/*/initializers.yaml")
	for _, path := range dirs {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		object, err := yaml.YAMLToJSON(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		m, err := Convert(object)
		if err != nil {
			return
		}
		text, err := m.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var parsed admissionv1.MutatingWebhookConfiguration
		if err := yaml.UnmarshalStrict(text, &parsed); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(parsed.Webhooks) != len(m.Configuration.Webhooks) {
			t.Errorf("%d webhooks of %d in\n%s", len(parsed.Webhooks), len(m.Configuration.Webhooks), text)
		}
	})
}
