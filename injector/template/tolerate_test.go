package template

import (
	"strings"
	"testing"
)

func TestTolerate_ProblemsNameTheField(t *testing.T) {
	for tolerate, want := range map[string]string{
		"{}":                                    "data.options.tolerate: is empty; write what others may change",
		"env":                                   `data.options.tolerate: is "env"; write a mapping, such as env: {names: [AWS_*]}`,
		"[{env: {}}]":                           "data.options.tolerate: is a list of other values than names",
		"[env, images]":                         `data.options.tolerate[1]: is "images"; write one of image, resources`,
		"{images: {registries: [a.io]}}":        `data.options.tolerate.images: is not a field of this object; did you mean image?`,
		"{image: {registry: [a.io]}}":           "data.options.tolerate.image.registry: is not a field of this object; write registries",
		"{image: {}}":                           "data.options.tolerate.image.registries: is empty; write image: {registries: [registry.example.com/team]}, or remove image",
		"{image: {registries: []}}":             "data.options.tolerate.image.registries: is empty",
		"{image: {registries: [a.io, '*.io']}}": `data.options.tolerate.image.registries[1]: is "*.io"; a registry is not a pattern`,
		"{image: {registries: [team]}}":         `data.options.tolerate.image.registries[0]: is "team", which does not begin with a host`,
		"{image: }":                             "data.options.tolerate.image: has no value; write image: {registries:",
		"{resources: }":                         "data.options.tolerate.resources: has no value; write resources: {}",
		"{resources: {cpu: 1}}":                 "data.options.tolerate.resources.cpu: is not a field of this object",
		"{env: {names: []}}":                    "data.options.tolerate.env.names: is empty; write env: {names: [AWS_*]}",
		"{env: {names: ['AWS_[A-Z]']}}":         `data.options.tolerate.env.names[0]: is "AWS_[A-Z]"; write the name of a variable, with * for any characters`,
		"{env: {names: ['A?', '']}}":            `data.options.tolerate.env.names[1]: is ""`,
		"{env: [AWS_*]}":                        "data.options.tolerate",
		"{volumeMounts: {paths: []}}":           "data.options.tolerate.volumeMounts.paths: is empty",
		"{volumeMounts: {paths: [run/x]}}":      `data.options.tolerate.volumeMounts.paths[0]: is "run/x"; write an absolute path`,
		"{volumeMounts: {paths: [/a/../b/]}}":   `data.options.tolerate.volumeMounts.paths[0]: is "/a/../b/"; write /b`,
		"{volumeMounts: {paths: ['/a/*']}}":     `data.options.tolerate.volumeMounts.paths[0]: is "/a/*"; a path is not a pattern`,
	} {
		_, err := Parse("side", map[string]string{ConfigKey: small, OptionsKey: "{mandatory: true, tolerate: " + tolerate + "}"})
		if err == nil || !strings.Contains(line.ReplaceAllString(err.Error(), ""), want) {
			t.Errorf("%s: %v, want %s", tolerate, err, want)
		}
	}
}

// TestTolerate_Versions holds the version of a template with a list to that of
// releases without the mapping. The order of a mapping's values does not matter.
func TestTolerate_Versions(t *testing.T) {
	const config = "containers: [{name: side, image: 'side:1'}]"
	const plain = "sha256:103a1c69805a95924e6c0de4b2cce80c6ec12e50ded580d423fd729159c7abfa"
	const listed = "sha256:b94ec3f090d51b65698b9b5464d0fad92aebb1375e5a05537804d47d9addd929"
	for tolerate, want := range map[string]string{"[image, env, env, volumeMounts]": listed, "[volumeMounts, env, image]": listed, "[]": plain, "null": plain} {
		if got := mustParse(t, "side", config, "{mandatory: true, tolerate: "+tolerate+"}").Version; got != want {
			t.Errorf("tolerate: %s: version %s, want %s", tolerate, got, want)
		}
	}
	a := mustParse(t, "side", config, "{mandatory: true, tolerate: {env: {names: [B, A, A]}, image: {registries: [a.io, b.io]}, labels: {}}}").Version
	b := mustParse(t, "side", config, "{mandatory: true, tolerate: {labels: {}, image: {registries: [b.io, a.io]}, env: {names: [A, B]}}}").Version
	c := mustParse(t, "side", config, "{mandatory: true, tolerate: {labels: {}, image: {registries: [b.io]}, env: {names: [A, B]}}}").Version
	if a != b || a == c || a == plain {
		t.Errorf("versions %s, %s and %s", a, b, c)
	}
}

func TestTolerate_Wide(t *testing.T) {
	for tolerate, want := range map[string]int{"[image, env, volumeMounts, resources]": 3, "[resources, securityContext, labels, annotations]": 0, "{env: {names: ['*']}, image: {registries: [a.io]}}": 0, "[]": 0} {
		options := mustParse(t, "side", small, "{mandatory: true, tolerate: "+tolerate+"}").Options
		if got := options.Tolerate.Wide(); len(got) != want {
			t.Errorf("tolerate: %s: %q, want %d", tolerate, got, want)
		}
	}
}
