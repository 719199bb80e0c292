package template_test

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/injector/template"
)

func TestRegistry(t *testing.T) {
	for registry, images := range map[string]map[string]bool{
		"registry.example.com": {
			"registry.example.com/side:1": true, "registry.example.com/team/side@sha256:" + strings.Repeat("a", 64): true,
			"registry.example.com:5000/side": false, "registry.example.com.evil.io/side": false, "evil.io/registry.example.com/side": false,
			"side": false, "": false, "registry.example.com/../evil/side": false, "registry.example.com": false,
		},
		"registry.example.com:5000/team": {
			"registry.example.com:5000/team/side:1": true, "registry.example.com:5000/team/a/side": true,
			"registry.example.com:5000/teams/side": false, "registry.example.com:5000/side": false, "registry.example.com/team/side": false,
		},
		"docker.io":            {"side": true, "team/side:1": true, "docker.io/team/side": true, "index.docker.io/team/side": true, "quay.io/side": false},
		"docker.io/library":    {"side": true, "library/side": true, "team/side": false},
		"index.docker.io/team": {"team/side": true, "side": false},
		"localhost":            {"localhost/side": true, "side": false},
	} {
		r, err := template.ParseRegistry(registry)
		if err != nil {
			t.Errorf("%s: %v", registry, err)
			continue
		}
		for name, want := range images {
			if got := r.Contains(name); got != want {
				t.Errorf("%s holds %q: %v, want %v", registry, name, got, want)
			}
		}
	}
	for registry, want := range map[string]string{
		"":                             "does not begin with a host",
		"team":                         "docker.io for Docker Hub",
		"team/side":                    "does not begin with a host",
		"https://registry.example.com": "without the scheme",
		"*.example.com":                "a registry is not a pattern",
		"registry.example.com/team:1":  "without a tag",
		"registry.example.com/":        "a host with an optional port",
		"registry.example.com/Team":    "a host with an optional port",
	} {
		if _, err := template.ParseRegistry(registry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", registry, err, want)
		}
	}
}

func TestFlattened(t *testing.T) {
	for name, c := range map[string]struct {
		image, as string
		want      bool
	}{
		"with a dash":            {"team/side:1", "mirror.example.com/team-side:2", true},
		"with an underscore":     {"team/side", "mirror.example.com/x/team_side", true},
		"with the host":          {"registry.example.com/team/side@sha256:1", "mirror/registry.example.com-team-side", true},
		"without the host":       {"registry.example.com:5000/team/a/side:1", "mirror/team-a-side", true},
		"the last two":           {"registry.example.com/team/a/side", "mirror/a-side", true},
		"not flattened":          {"team/side", "mirror/team/side", false},
		"the last component":     {"team/side", "side", false},
		"the host with its port": {"registry:5000/team/side", "registry", false},
		"a part of a component":  {"team/side", "mirror/eam-side", false},
		"another image":          {"team/side", "mirror/team-other", false},
		"a single component":     {"side", "mirror/library-side", false},
		"nothing":                {"", "", false},
	} {
		if got := template.Flattened(c.image, c.as); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
