package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/suggest"
)

// A Target is an object to explain.
type Target struct{ APIVersion, Kind, Name string }

// kinds are the kinds that can be explained, with kubectl's names for each.
var kinds = []struct {
	apiVersion, kind string
	names            []string
}{
	{"v1", "Pod", []string{"pod", "pods", "po"}},
	{"apps/v1", "Deployment", []string{"deployment", "deployments", "deploy"}},
	{"apps/v1", "StatefulSet", []string{"statefulset", "statefulsets", "sts"}},
	{"apps/v1", "DaemonSet", []string{"daemonset", "daemonsets", "ds"}},
	{"apps/v1", "ReplicaSet", []string{"replicaset", "replicasets", "rs"}},
	{"batch/v1", "Job", []string{"job", "jobs"}},
	{"batch/v1", "CronJob", []string{"cronjob", "cronjobs", "cj"}},
	{"v1", "ReplicationController", []string{"replicationcontroller", "replicationcontrollers", "rc"}},
}

// KindNames lists the kinds that can be explained, as kubectl names them.
func KindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.names[0])
	}
	return names
}

// Resource returns the API server's name for the objects of the target's kind.
func (t Target) Resource() string { return strings.ToLower(t.Kind) + "s" }

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
		if name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q has no name; write the object as in deployment/api", arg)
		}
		target.Name = name
		targets = append(targets, target)
	}
	return targets, nil
}

func parseKind(name string) (Target, error) {
	// kubectl also accepts deployments.apps and deployments.v1.apps.
	plain, _, _ := strings.Cut(strings.ToLower(name), ".")
	for _, k := range kinds {
		if slices.Contains(k.names, plain) {
			return Target{APIVersion: k.apiVersion, Kind: k.kind}, nil
		}
	}
	return Target{}, fmt.Errorf("%q is not a kind of pod or owner; %s", name, suggest.Instead(plain, KindNames()))
}
