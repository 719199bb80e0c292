package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/suggest"
)

// A Target is an object to explain.
type Target struct{ APIVersion, Kind, Name string }

// explained are the kinds that can be explained, the most common first.
func explained() []*kinds.Kind {
	return slices.Concat([]*kinds.Kind{kinds.Named("Pod")}, kinds.With(kinds.Creates|kinds.Restarts, 0), kinds.With(kinds.Creates, kinds.Restarts))
}

// KindNames lists the kinds that can be explained, as kubectl names them.
func KindNames() []string {
	var names []string
	for _, k := range explained() {
		names = append(names, strings.ToLower(k.Name))
	}
	return names
}

// Resource returns the API server's name for the objects of the target's kind.
func (t Target) Resource() string { return kinds.Named(t.Kind).Resource }

// ParseTargets parses objects like kubectl: KIND/NAME..., or KIND NAME.... If
// kind is given, NAME has that kind.
func ParseTargets(kind string, args []string) ([]Target, error) {
	if kind == "" && len(args) > 1 && !strings.Contains(args[0], "/") {
		kind, args = args[0], args[1:]
	}
	var targets []Target
	for _, arg := range args {
		of, name, slash := strings.Cut(arg, "/")
		if !slash {
			of, name = kind, arg
		}
		if of == "" {
			return nil, fmt.Errorf("%q has no kind; write pod/%s or deployment/%s", arg, arg, arg)
		}
		target, err := parseKind(of)
		if err != nil {
			return nil, err
		}
		switch {
		case name == "":
			return nil, fmt.Errorf("%q has no name; write the object as in deployment/api", arg)
		case strings.Contains(name, "/"):
			return nil, fmt.Errorf("%q has two slashes; write the object as in deployment/api, and its namespace with -n", arg)
		}
		target.Name = name
		targets = append(targets, target)
	}
	return targets, nil
}

func parseKind(name string) (Target, error) {
	// kubectl also accepts deployments.apps and deployments.v1.apps.
	plain, _, _ := strings.Cut(strings.ToLower(name), ".")
	for _, k := range explained() {
		if plain == strings.ToLower(k.Name) || plain == k.Resource || slices.Contains(k.Short, plain) {
			return Target{APIVersion: k.APIVersion, Kind: k.Name}, nil
		}
	}
	return Target{}, fmt.Errorf("%q is not a kind of pod or owner; %s", name, suggest.Instead(plain, KindNames()))
}
