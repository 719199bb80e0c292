package injector

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// templatePaths is the path of the pod template in each kind of workload.
var templatePaths = map[string][]string{
	"Pod":                   nil,
	"Deployment":            {"spec", "template"},
	"ReplicaSet":            {"spec", "template"},
	"StatefulSet":           {"spec", "template"},
	"DaemonSet":             {"spec", "template"},
	"Job":                   {"spec", "template"},
	"ReplicationController": {"spec", "template"},
	"CronJob":               {"spec", "jobTemplate", "spec", "template"},
	"PodTemplate":           {"template"},
}

// Injects says whether objects of a kind are pods or hold a pod template. Other
// API groups have kinds of the same names.
func Injects(apiVersion, kind string) bool {
	if _, ok := templatePaths[kind]; !ok {
		return false
	}
	switch kind {
	case "Pod", "PodTemplate", "ReplicationController":
		return apiVersion == "v1"
	case "Job", "CronJob":
		return apiVersion == "batch/v1"
	}
	return apiVersion == "apps/v1"
}

// Kinds lists the kinds that are pods or hold a pod template, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(templatePaths)) }

// TemplatePath returns the fields that lead to the pod template of a kind; none
// for a pod, and for a kind that holds no template.
func TemplatePath(kind string) []string { return slices.Clone(templatePaths[kind]) }

// podTemplate returns the pod that an object is, or the template that it
// holds, and where.
func podTemplate(kind string, object []byte) (jsontext.Value, []string, *finding.Finding) {
	if kind == "" {
		kind = "Pod"
	}
	path, ok := templatePaths[kind]
	if !ok {
		return nil, nil, new(finding.Denial(reason.Undecodable, "kind", "is "+quote(kind)+", which is not a pod and has no pod template"))
	}
	raw := jsontext.Value(object)
	for i, step := range path {
		var fields map[string]jsontext.Value
		if err := json.Unmarshal(raw, &fields); err != nil {
			field, detail := decodeProblem(err)
			return nil, nil, new(finding.Denial(reason.Undecodable, strings.TrimSuffix(strings.Join(append(slices.Clone(path[:i]), field), "."), "."), detail))
		}
		if raw = fields[step]; len(raw) == 0 || raw.Kind() == 'n' {
			return nil, nil, new(finding.Denial(reason.Undecodable, strings.Join(path[:i+1], "."), "is missing"))
		}
	}
	return raw, path, nil
}

// pointer writes a path as a JSON Pointer.
func pointer(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return "/" + strings.Join(path, "/")
}

// repeatsKeys says whether a list that usher may add to has a merge key twice.
func (p *pod) repeatsKeys() bool {
	s := p.Spec
	return repeats(s.Containers, func(c podContainer) string { return c.Name }) ||
		repeats(s.InitContainers, func(c podContainer) string { return c.Name }) ||
		repeats(s.Volumes, func(v podVolume) string { return v.Name }) ||
		repeats(s.ImagePullSecrets, func(s podPullSecret) string { return s.Name }) ||
		repeats(s.HostAliases, func(a podHostAlias) string { return a.IP })
}

func repeats[T any](items []T, key func(T) string) bool {
	if len(items) < 2 {
		return false
	}
	seen := make(map[string]struct{}, len(items))
	for _, item := range items {
		k := key(item)
		if _, twice := seen[k]; twice {
			return true
		}
		seen[k] = struct{}{}
	}
	return false
}

// Carries reports whether opt-ins on the own metadata of objects of a kind are
// carried into their pod templates.
func Carries(apiVersion, kind string) bool {
	switch kind {
	case "Pod", "PodTemplate", "ReplicationController":
		return false
	}
	return Injects(apiVersion, kind)
}
