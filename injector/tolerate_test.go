package injector

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
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
			for by, d := range map[string]*decision.Decision{"Decide": Decide(r), "VerifyMandatory": VerifyMandatory(r), "VerifyUpdate": VerifyUpdate(r, once)} {
				if d.Denied == tc.want {
					t.Errorf("%s: denied %v: %s", by, d.Denied, d.Message())
				}
			}
		})
	}
}

// TestTolerate_Mapping checks that a key without limits has the meaning of the list.
func TestTolerate_Mapping(t *testing.T) {
	for _, key := range []template.Tolerance{template.TolerateResources, template.TolerateSecurityContext, template.TolerateLabels, template.TolerateAnnotations} {
		for name, c := range changes {
			r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", guarding, "{mandatory: true, tolerate: {"+string(key)+": {}}}"))}
			once := apply(t, r, Decide(r))
			r.Object = edited(t, string(once), c.edit)
			if d := VerifyMandatory(r); d.Denied != (c.allowed != key) {
				t.Errorf("%s, tolerating %s: denied %v: %s", name, key, d.Denied, d.Message())
			}
		}
	}
}
