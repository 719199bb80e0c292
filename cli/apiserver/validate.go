package apiserver

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/policies/servererrors"
	"github.com/usher-dev/usher/verdict"
)

// Knows reports whether the server can validate a kind: it is built in, or its
// definition is known.
func (v *Validator) Knows(apiVersion, kind string) bool {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	_, custom := v.definition(gvk.GroupKind())
	return custom || owned(gvk)
}

// BuiltIn reports whether only the server itself can serve a kind.
func BuiltIn(apiVersion, kind string) bool {
	return owned(schema.FromAPIVersionAndKind(apiVersion, kind))
}

// Validate implements verdict.Validator.
func (v *Validator) Validate(object verdict.Object, old *verdict.Object, f *verdict.Facts) []finding.Finding {
	return concealed(v.served(object, old, f), object, old)
}

// served judges an object of any kind.
func (v *Validator) served(object verdict.Object, old *verdict.Object, f *verdict.Facts) []finding.Finding {
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	r, ok := v.registry(kind)
	switch {
	case !ok && passing(kind):
		return nil
	case !ok && v.unreadable(kind) != nil:
		return []finding.Finding{{Rule: ruledocs.ServerWarning, Level: finding.Baseline, Field: "kind", Value: object.Kind,
			Message: fmt.Sprintf("%s is not checked, because its CustomResourceDefinition is invalid: %v", object.Kind, v.unreadable(kind)),
			Harm:    "the API server may refuse the object", Fix: "correct the CustomResourceDefinition"}}
	case !ok && owned(kind) && v.mayServe(kind):
		return nil
	case !ok && v.Knows(object.APIVersion, object.Kind):
		return []finding.Finding{of(servererrors.UnservedKind, "apiVersion", object.APIVersion, v.unserved(kind))}
	case !ok:
		return v.templates(object.Typed, object.Namespace, f)
	case len(object.JSON) > maxBody:
		return []finding.Finding{refused("", nil, fmt.Sprintf("the object has %d bytes, and the API server reads at most %d", len(object.JSON), maxBody))}
	}
	if kind.GroupKind() == definitionKind.GroupKind() && old == nil {
		judge, _ := v.judged.LoadOrStore(digest(sha256.Sum256(object.JSON)), sync.OnceValue(func() []finding.Finding {
			return v.validate(r, kind, object, nil, f)
		}))
		return slices.Clone(judge.(func() []finding.Finding)())
	}
	return v.validate(r, kind, object, old, f)
}

// validate judges an object of a kind that the server serves.
func (v *Validator) validate(r registry, kind schema.GroupVersionKind, object verdict.Object, old *verdict.Object, f *verdict.Facts) (found []finding.Finding) {
	if _, custom := v.definition(kind.GroupKind()); custom {
		found = v.templates(object.Typed, object.Namespace, f)
	}
	c := &call{registry: r, kind: kind, server: v.server, namespace: object.Namespace, labels: f.NamespaceLabels}
	if c.namespace == "" {
		c.namespace = "default"
	}
	more, err := c.judge(object, old)
	if _, builtin := c.codec.(typed); builtin {
		more = v.forgiven(kind, more)
	}
	found = append(found, more...)
	if err != nil {
		found = append(found, refused("", nil, err.Error()))
	}
	found = append(found, c.warned()...)
	if kind.GroupKind() == definitionKind.GroupKind() {
		placed(found)
	}
	valued(object.JSON, found)
	found = explained(kind.Kind, found)
	c.suggested(kind, found)
	return found
}

// judge creates the object, or updates the old one. It treats a panic of the
// server's code as an internal error of the server.
func (c *call) judge(new verdict.Object, old *verdict.Object) (found []finding.Finding, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			found, err = append(found, refused("", nil, fmt.Sprintf("the API server's code panics on this object, so it would not answer: %v", reason))), nil
		}
	}()
	if old != nil {
		return c.update(old.JSON, new.JSON)
	}
	written, found := c.written(new)
	if written == nil {
		return found, nil
	}
	object, err := c.complete(c.kind, written.DeepCopyObject())
	if err != nil {
		return append(found, of(servererrors.Undecodable, "", nil, err.Error())), nil
	}
	more, err := c.create(object)
	if err != nil || refuses(found) || refuses(more) {
		return append(found, more...), err
	}
	lost, err := c.lost(written, object)
	return append(found, lost...), err
}

// lost returns what the server drops of an object that a user wrote. Custom
// resources have no fields with feature gates, and those of a newer server are not
// known.
func (c *call) lost(written, stored runtime.Object) ([]finding.Finding, error) {
	if _, ok := c.codec.(typed); !ok || c.server > Newest {
		return nil, nil
	}
	versioned, err := c.versioned(c.kind, stored)
	if err != nil {
		return nil, fmt.Errorf("converting the stored %s: %w", c.kind.Kind, err)
	}
	return dropped(c.server.String(), written, versioned), nil
}

// written decodes an object as a user wrote it, unless the rules' decoder has
// found nothing wrong with its fields.
func (c *call) written(o verdict.Object) (runtime.Object, []finding.Finding) {
	absent, gone, rest := c.fields.take(o.JSON)
	if _, builtin := c.codec.(typed); builtin && len(absent)+len(gone) == 0 && o.Typed != nil && o.Typed.Exact {
		if object, ok := o.Typed.Typed.(runtime.Object); ok {
			return object, nil
		}
	}
	object, found := c.read(c.kind, rest)
	for _, change := range c.server.changes(c.kind.Kind) {
		if change.read == nil || object == nil {
			continue
		}
		for _, e := range change.read(object) {
			found = append(found, refused(e.Field, scalar(e.BadValue), e.ErrorBody()))
		}
	}
	for _, path := range absent {
		found = append(found, of(servererrors.UnknownField, path, nil, fmt.Sprintf("unknown field %q", path)))
	}
	if len(absent) > 0 { // the rest of the object may need them
		return nil, found
	}
	for _, path := range gone { // usher does not know more about them
		found = append(found, droppedAt(c.server.String(), path))
	}
	return object, found
}

// decode returns an object in the form that strategies accept.
func (c *call) decode(raw []byte) (runtime.Object, []finding.Finding) {
	written, found := c.written(verdict.Object{JSON: raw})
	if written == nil {
		return nil, found
	}
	object, err := c.complete(c.kind, written)
	if err != nil {
		return nil, append(found, of(servererrors.Undecodable, "", nil, err.Error()))
	}
	return object, found
}

// encode writes an object like the server.
func (c *call) encode(object runtime.Object) ([]byte, error) {
	versioned, err := c.versioned(c.kind, object)
	if err != nil {
		return nil, err
	}
	return json.Marshal(versioned)
}

// warned returns the server's warnings as findings.
func (c *call) warned() []finding.Finding {
	warnings := c.warnings
	if c.deprecated != "" {
		warnings = append(warnings, c.deprecated)
	}
	var found []finding.Finding
	for _, w := range warnings {
		at, text := fieldOf(w)
		found = append(found, finding.Finding{Rule: ruledocs.ServerWarning, Level: finding.Baseline, Field: at, Message: text,
			Harm: "a later API server may refuse the object, or this one ignores part of it", Fix: "change what the warning names"})
	}
	return found
}

// fieldOf parses the field at the beginning of a warning, if it names one.
func fieldOf(warning string) (field, text string) {
	before, after, ok := strings.Cut(warning, ": ")
	if !ok || strings.ContainsAny(before, " /") && !strings.Contains(before, "[") || !strings.ContainsAny(before, ".[") {
		return "", warning
	}
	return before, after
}

// refuses reports whether the server refuses the object because of one of the
// findings.
func refuses(found []finding.Finding) bool {
	return slices.ContainsFunc(found, func(f finding.Finding) bool { return f.RefusedByServer })
}
