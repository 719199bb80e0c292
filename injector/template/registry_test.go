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
