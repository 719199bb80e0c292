package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector/template"
)

const root = "../.."

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	files, err := schemas(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, "docs", "schemas", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is outdated: run make generate (-want +got):\n%s", name, diff)
		}
	}
}

// validate returns what a schema says about a document.
func validate(t *testing.T, name, document string) error {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(root, "docs", "schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}

// tracked lists the files of the repository with an ending.
func tracked(t *testing.T, ending string) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "*"+ending).Output()
	if err != nil {
		t.Skipf("listing the files of the repository: %v", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestExamplesFitTheSchemas validates every configuration and every template in the
// manifests and documents of the repository that usher accepts.
func TestExamplesFitTheSchemas(t *testing.T) {
	configurations, templates := 0, 0
	check := func(where string, text []byte) {
		docs, _ := manifest.ReadTolerant(manifest.Stdin, bytes.NewReader(text))
		for _, d := range docs {
			var object struct {
				Data map[string]string `json:"data"`
			}
			switch {
			case d.APIVersion == config.APIVersion:
				if _, err := config.Parse(d.JSON); err != nil {
					continue
				}
				configurations++
				if err := validate(t, "configuration.json", string(d.JSON)); err != nil {
					t.Errorf("%s:%d: %v", where, d.Line, err)
				}
			case d.Kind == "ConfigMap" && yaml.Unmarshal(d.JSON, &object) == nil && object.Data[template.ConfigKey] != "":
				if _, err := template.Parse("example", object.Data); err != nil {
					continue
				}
				templates++
				if err := validate(t, "template-config.json", object.Data[template.ConfigKey]); err != nil {
					t.Errorf("%s:%d: %v", where, d.Line, err)
				}
				if options := object.Data[template.OptionsKey]; strings.TrimSpace(options) != "" {
					if err := validate(t, "template-options.json", options); err != nil {
						t.Errorf("%s:%d: %v", where, d.Line, err)
					}
				}
			}
		}
	}
	for _, ending := range []string{".yaml", ".md"} {
		for _, path := range tracked(t, ending) {
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				continue // it is deleted and not committed yet
			}
			if ending == ".yaml" {
				check(path, text)
				continue
			}
			for _, match := range block.FindAllSubmatch(text, -1) {
				check(path, match[1])
			}
		}
	}
	if configurations < 2 || templates < 10 {
		t.Errorf("validated only %d configurations and %d templates", configurations, templates)
	}
}

func TestSchemas_RefuseWhatUsherRefuses(t *testing.T) {
	const head = "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\n"
	for name, c := range map[string]struct{ schema, good, bad string }{
		"a key":                  {"configuration.json", head + "policies: {enforce: strict}", head + "policies: {enfroce: strict}"},
		"a key at the top":       {"configuration.json", head + "exemptions: []", head + "exemption: []"},
		"a level":                {"configuration.json", head + "policies: {warn: \"off\"}", head + "policies: {warn: high}"},
		"an API version":         {"configuration.json", head, "apiVersion: config.usher.dev/v1\nkind: Configuration"},
		"a reason":               {"configuration.json", head + "exemptions: [{rules: [job-ttl], kinds: [Job], reason: why, until: 2027-01-31}]", head + "exemptions: [{rules: [job-ttl], kinds: [Job]}]"},
		"a container's key":      {"template-config.json", "containers: [{name: a, image: a}]", "containers: [{name: a, imgae: a}]"},
		"a port":                 {"template-config.json", "containers: [{name: a, ports: [{containerPort: 80}]}]", "containers: [{name: a, ports: [{containerPort: http}]}]"},
		"a port by parameter":    {"template-config.json", "containers: [{name: a, ports: [{containerPort: '${param.port}'}]}]", "containers: [{name: a, ports: 80}]"},
		"arguments":              {"template-config.json", "containers: [{name: a, args: [a, {omitEmpty: '${param.a}', args: [b]}]}]", "containers: [{name: a, args: [{omitEmpty: a}]}]"},
		"appContainers":          {"template-config.json", "appContainers: {env: [{name: A, value: a}]}", "appContainers: {envs: []}"},
		"an option":              {"template-options.json", "native: always", "nativ: always"},
		"an option's value":      {"template-options.json", "native: preferred", "native: sometimes"},
		"tolerate as a mapping":  {"template-options.json", "tolerate: {env: {names: [A]}}", "tolerate: {envs: {}}"},
		"tolerate as a list":     {"template-options.json", "tolerate: [image]", "tolerate: [images]"},
		"onConflict":             {"template-options.json", "onConflict: {env: {A: keep, B: {append: ' '}}}", "onConflict: {env: {A: replace}}"},
		"a parameter's default":  {"template-options.json", "parameters: [{name: a, type: int, default: 1}]", "parameters: [{type: int}]"},
		"a selector in match":    {"template-options.json", "match: {podSelector: {matchLabels: {a: b}}}", "match: {podSelector: {labels: {a: b}}}"},
		"a kind, and no mapping": {"template-options.json", "match: {kinds: [Job]}", "match: {kinds: Job}"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := validate(t, c.schema, c.good); err != nil {
				t.Errorf("%s: %v", c.good, err)
			}
			if validate(t, c.schema, c.bad) == nil {
				t.Errorf("%s is accepted", c.bad)
			}
		})
	}
}
