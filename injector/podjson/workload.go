package podjson

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/kinds"
)

// Template returns the pod that an object is, or the template that it
// holds, and where.
func Template(kind string, object []byte) (jsontext.Value, []string, *finding.Finding) {
	if kind == "" {
		kind = "Pod"
	}
	k := kinds.Named(kind)
	if !k.Is(kinds.Pods) {
		return nil, nil, new(finding.Denial(reason.Undecodable, "kind", "is "+finding.Quote(kind)+", which is not a pod and has no pod template"))
	}
	raw, path := jsontext.Value(object), k.Template()
	for i, step := range path {
		var fields map[string]jsontext.Value
		if err := json.Unmarshal(raw, &fields); err != nil {
			field, detail := DecodeProblem(err)
			return nil, nil, new(finding.Denial(reason.Undecodable, strings.TrimSuffix(strings.Join(append(slices.Clone(path[:i]), field), "."), "."), detail))
		}
		if raw = fields[step]; len(raw) == 0 || raw.Kind() == 'n' {
			return nil, nil, new(finding.Denial(reason.Undecodable, strings.Join(path[:i+1], "."), "is missing"))
		}
	}
	return raw, path, nil
}

// Pointer writes a path as a JSON Pointer.
func Pointer(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return "/" + strings.Join(path, "/")
}

// RepeatsKeys says whether a list that usher may add to has a merge key twice.
func (p *Pod) RepeatsKeys() bool {
	s := p.Spec
	return repeats(s.Containers, func(c Container) string { return c.Name }) ||
		repeats(s.InitContainers, func(c Container) string { return c.Name }) ||
		repeats(s.Volumes, func(v Volume) string { return v.Name }) ||
		repeats(s.ImagePullSecrets, func(s PullSecret) string { return s.Name }) ||
		repeats(s.HostAliases, func(a HostAlias) string { return a.IP })
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

// TemplateAnnotations reads the annotations of a workload's pod template.
// exists is true if the template has metadata.
func TemplateAnnotations(kind string, object []byte) (annotations map[string]string, exists bool, path []string, problem *finding.Finding) {
	raw, path, problem := Template(kind, object)
	if problem != nil {
		return nil, false, nil, problem
	}
	var template struct {
		Metadata *Metadata `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &template); err != nil {
		field, detail := DecodeProblem(err)
		return nil, false, nil, new(finding.Denial(reason.Undecodable, strings.Join(path, ".")+"."+field, detail))
	}
	if template.Metadata == nil {
		return nil, false, path, nil
	}
	return template.Metadata.Annotations, true, path, nil
}
