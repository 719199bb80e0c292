package template

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// A Registry is a registry, or a part of one: a host with an optional port, and an
// optional path, such as registry.example.com:5000/team.
type Registry struct{ path string }

// ParseRegistry parses a registry. The error says what to write instead.
func ParseRegistry(text string) (Registry, error) {
	host, _, _ := strings.Cut(text, "/")
	switch {
	case strings.Contains(text, "://"):
		return Registry{}, fmt.Errorf("is %q; write it without the scheme, as in the name of an image", text)
	case strings.Contains(text, "*"):
		return Registry{}, fmt.Errorf("is %q; a registry is not a pattern: write registry.example.com for all of its images, or registry.example.com/team for those of a path", text)
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		return Registry{}, fmt.Errorf("is %q, which does not begin with a host; write registry.example.com or registry.example.com/team, and docker.io for Docker Hub", text)
	}
	const below = "/a/a" // a single component below docker.io would be below docker.io/library
	named, err := reference.ParseNormalizedNamed(text + below)
	if err != nil {
		return Registry{}, fmt.Errorf("is %q; write a host with an optional port and path, without a tag, such as registry.example.com:5000/team", text)
	}
	return Registry{strings.TrimSuffix(named.Name(), below)}, nil
}

// Contains reports whether an image is in the registry. A name that is not a reference
// is in none.
func (r Registry) Contains(image string) bool {
	named, err := reference.ParseNormalizedNamed(image)
	return err == nil && strings.HasPrefix(named.Name(), r.path+"/")
}
