package podjson

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/kinds"
)

// Template returns the pod that an object is, or the template that it
// holds, and where. The template is a part of the object's JSON, not a copy.
func Template(kind string, object []byte) (jsontext.Value, []string, *finding.Finding) {
	if kind == "" {
		kind = "Pod"
	}
	k := kinds.Named(kind)
	if !k.Is(kinds.Pods) {
		return nil, nil, new(finding.Denial(reason.Undecodable, "kind", "is "+finding.Quote(kind)+", which is not a pod and has no pod template"))
	}
	path := k.Template()
	if len(path) == 0 {
		return object, path, nil
	}
	if template, ok := templateAt(path, object); ok {
		return template, path, nil
	}
	at := place{path: path}
	if err := json.Unmarshal(object, &at); err != nil {
		field, detail := DecodeProblem(err)
		return nil, nil, new(finding.Denial(reason.Undecodable, field, detail))
	}
	switch {
	case at.found == len(path):
		return object[at.from:at.to:at.to], path, nil
	case at.mismatch != 0:
		return nil, nil, new(finding.Denial(reason.Undecodable, strings.Join(path[:at.found], "."), "is "+kindName(at.mismatch)+"; must be an object"))
	}
	return nil, nil, new(finding.Denial(reason.Undecodable, strings.Join(path[:at.found+1], "."), "is missing"))
}

// A place is where the value at a path is in an object's JSON. To find it, the
// decoder reads the whole object, and copies nothing.
type place struct {
	path []string
	// found is how many steps of the path lead to a value that is not null;
	// mismatch is the kind of the last one if it is not the object that it must be.
	found    int
	mismatch jsontext.Kind
	from, to int64
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *place) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	kind := d.PeekKind()
	switch {
	case p.found == len(p.path):
		value, err := d.ReadValue()
		p.to = d.InputOffset()
		p.from = p.to - int64(len(value))
		return err
	case kind != '{':
		if kind != 'n' {
			p.mismatch = kind
		}
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	step := p.path[p.found]
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if name.String() != step || d.PeekKind() == 'n' {
			err = d.SkipValue()
		} else {
			p.found++
			err = p.UnmarshalJSONFrom(d)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
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
