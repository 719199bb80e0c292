package injector

import (
	"strings"
	"testing"
)

// TestTolerate_Limits changes the sidecar of an injected pod as the mapping allows,
// and in similar ways that it does not, at both points of admission and on UPDATE.
func TestTolerate_Limits(t *testing.T) {
	const options = `{mandatory: true, tolerate: {image: {registries: [mirror.example.com/team, 'registry.example.com:5000']},
  env: {names: [AWS_*, POD_IP]}, volumeMounts: {paths: [/var/run/secrets/example.com]}}}`
	image := func(name string) func(pod, side map[string]any) {
		return func(_, s map[string]any) { s["image"] = name }
	}
	variable := func(name string) func(pod, side map[string]any) {
		return func(_, s map[string]any) {
			s["env"] = append(s["env"].([]any), map[string]any{"name": name, "value": "x"})
		}
	}
	mounted := func(path string) func(pod, side map[string]any) {
		return func(_, s map[string]any) { mount(s, "w", path) }
	}
	for name, tc := range map[string]struct {
		edit func(pod, side map[string]any)
		want bool
	}{
		"a listed registry":                    {image("mirror.example.com/team/side:1"), true},
		"a listed registry, pinned":            {image("mirror.example.com/team/a/side@sha256:" + strings.Repeat("a", 64)), true},
		"a listed registry with a port":        {image("registry.example.com:5000/side:2"), true},
		"another image of a listed registry":   {image("mirror.example.com/team/other:1"), false},
		"another path of a listed host":        {image("mirror.example.com/tea/side:1"), false},
		"a path that climbs":                   {image("mirror.example.com/team/../evil/side:1"), false},
		"a host that begins like a listed one": {image("mirror.example.com.evil.io/team/side:1"), false},
		"a registry that is not listed":        {image("evil.io/x/side:1"), false},
		"another tag of the template's own":    {image("registry.example.com/side:2"), false},
		"Docker Hub":                           {image("side:1"), false},
		"a pull policy":                        {func(_, s map[string]any) { s["imagePullPolicy"] = "Never" }, true},
		"a listed variable":                    {variable("POD_IP"), true},
		"a variable of a pattern":              {variable("AWS_ROLE_ARN"), true},
		"the beginning of a pattern":           {variable("AWS_"), true},
		"another variable":                     {variable("LD_PRELOAD"), false},
		"a variable that contains a pattern":   {variable("MY_AWS_X"), false},
		"a variable in another case":           {variable("aws_x"), false},
		"a variable that the template sets":    {variable("A"), false},
		"variables of a Secret": {func(_, s map[string]any) {
			s["envFrom"] = []any{map[string]any{"prefix": "AWS_", "secretRef": map[string]any{"name": "x"}}}
		}, false},
		"a listed path":                     {mounted("/var/run/secrets/example.com"), true},
		"below a listed path":               {mounted("/var/run/secrets/example.com/token"), true},
		"a listed path, not clean":          {mounted("/var/run//secrets/example.com/"), true},
		"a path that leaves a listed one":   {mounted("/var/run/secrets/example.com/../../../../bin"), false},
		"a path that begins like a listed":  {mounted("/var/run/secrets/example.community"), false},
		"above a listed path":               {mounted("/var/run/secrets"), false},
		"another path":                      {mounted("/bin"), false},
		"resources, which are not listed":   {func(_, s map[string]any) { at(s, "resources", "limits")["cpu"] = "2" }, false},
		"the command, which nothing allows": {func(_, s map[string]any) { s["command"] = []any{"/bin/true"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", guarding, options))}
			once := apply(t, r, Decide(r))
			r.Object = edited(t, string(once), tc.edit)
			for by, d := range map[string]*Decision{"Decide": Decide(r), "Hold": Hold(r), "HoldUpdate": HoldUpdate(r, once)} {
				if d.Denied == tc.want {
					t.Errorf("%s: denied %v: %s", by, d.Denied, d.Message())
				}
			}
		})
	}
}

// TestTolerate_Mapping checks that a key without limits has the meaning of the list.
func TestTolerate_Mapping(t *testing.T) {
	for _, key := range []Tolerance{TolerateResources, TolerateSecurityContext, TolerateLabels, TolerateAnnotations} {
		for name, c := range changes {
			r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", guarding, "{mandatory: true, tolerate: {"+string(key)+": {}}}"))}
			once := apply(t, r, Decide(r))
			r.Object = edited(t, string(once), c.edit)
			if d := Hold(r); d.Denied != (c.allowed != key) {
				t.Errorf("%s, tolerating %s: denied %v: %s", name, key, d.Denied, d.Message())
			}
		}
	}
}

func TestTolerate_ProblemsNameTheField(t *testing.T) {
	for tolerate, want := range map[string]string{
		"{}":                                    "data.options.tolerate: is empty; write what others may change",
		"env":                                   `data.options.tolerate: is "env"; write a mapping, such as env: {names: [AWS_*]}`,
		"[{env: {}}]":                           "data.options.tolerate: is a list of other values than names",
		"[env, images]":                         `data.options.tolerate[1]: is "images"; write one of image, resources`,
		"{images: {registries: [a.io]}}":        `data.options.tolerate: unknown field "images": did you mean image?`,
		"{image: {registry: [a.io]}}":           `data.options.tolerate: unknown field "registry"`,
		"{image: {}}":                           "data.options.tolerate.image.registries: is empty; write image: {registries: [registry.example.com/team]}, or remove image",
		"{image: {registries: []}}":             "data.options.tolerate.image.registries: is empty",
		"{image: {registries: [a.io, '*.io']}}": `data.options.tolerate.image.registries[1]: is "*.io"; a registry is not a pattern`,
		"{image: {registries: [team]}}":         `data.options.tolerate.image.registries[0]: is "team", which does not begin with a host`,
		"{image: }":                             "data.options.tolerate.image: has no value; write image: {registries:",
		"{resources: }":                         "data.options.tolerate.resources: has no value; write resources: {}",
		"{resources: {cpu: 1}}":                 `data.options.tolerate: unknown field "cpu"`,
		"{env: {names: []}}":                    "data.options.tolerate.env.names: is empty; write env: {names: [AWS_*]}",
		"{env: {names: ['AWS_[A-Z]']}}":         `data.options.tolerate.env.names[0]: is "AWS_[A-Z]"; write the name of a variable, with * for any characters`,
		"{env: {names: ['A?', '']}}":            `data.options.tolerate.env.names[1]: is ""`,
		"{env: [AWS_*]}":                        "data.options.tolerate",
		"{volumeMounts: {paths: []}}":           "data.options.tolerate.volumeMounts.paths: is empty",
		"{volumeMounts: {paths: [run/x]}}":      `data.options.tolerate.volumeMounts.paths[0]: is "run/x"; write an absolute path`,
		"{volumeMounts: {paths: [/a/../b/]}}":   `data.options.tolerate.volumeMounts.paths[0]: is "/a/../b/"; write /b`,
		"{volumeMounts: {paths: ['/a/*']}}":     `data.options.tolerate.volumeMounts.paths[0]: is "/a/*"; a path is not a pattern`,
	} {
		_, err := ParseTemplate("side", map[string]string{ConfigKey: small, OptionsKey: "{mandatory: true, tolerate: " + tolerate + "}"})
		if err == nil || !strings.Contains(err.Error(), want) {
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
