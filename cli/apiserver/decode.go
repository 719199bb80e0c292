package apiserver

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/confidential"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/servererrors"
)

// maxBody is the maximum size of a request to the server.
const maxBody = 3 << 20

// A typed codec is for kinds with Go types.
type typed struct{ scheme *runtime.Scheme }

func (t typed) recognizes(kind schema.GroupVersionKind) bool { return t.scheme.Recognizes(kind) }

// read returns the object without defaults.
func (t typed) read(kind schema.GroupVersionKind, raw []byte) (runtime.Object, []finding.Finding) {
	object, err := t.scheme.New(kind)
	if err != nil {
		return nil, []finding.Finding{refused("", nil, err.Error())}
	}
	strict, err := kjson.UnmarshalStrict(raw, object)
	if err != nil {
		return nil, t.mismatches(kind, raw)
	}
	return object, strictly(strict)
}

// complete sets an object's defaults and converts it to the type that strategies
// accept. It may change the object.
func (t typed) complete(kind schema.GroupVersionKind, object runtime.Object) (runtime.Object, error) {
	t.scheme.Default(object)
	return t.scheme.UnsafeConvertToVersion(object, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
}

func (t typed) versioned(kind schema.GroupVersionKind, object runtime.Object) (runtime.Object, error) {
	return t.scheme.UnsafeConvertToVersion(object, kind.GroupVersion())
}

func (t typed) apply(kind schema.GroupVersionKind, before, after, live []byte) (merged []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil { // as in kubectl with lists of lists
			err = fmt.Errorf("the lists in the manifests do not match the kind: %v", reason)
		}
	}()
	object, err := t.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	lists, err := strategicpatch.NewPatchMetaFromStruct(object)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(before, after, live, lists, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(live, patch, object)
}

// mismatches returns the values that do not fit their fields.
func (t typed) mismatches(kind schema.GroupVersionKind, raw []byte) []finding.Finding {
	located := policies.Locate(raw, func(part []byte) error {
		object, err := t.scheme.New(kind)
		if err != nil {
			return err
		}
		return kjson.UnmarshalCaseSensitivePreserveInts(part, object)
	}, nil)
	var found []finding.Finding
	for _, m := range located {
		if confidential.Holds(kind.Kind, m.Path.String()) {
			m.Value, m.Message = nil, m.Redacted
		}
		found = append(found, of(servererrors.Undecodable, m.Path.String(), scalar(m.Value), m.Message))
	}
	// The server stops there. What else is wrong with the fields helps the user.
	if object, err := t.scheme.New(kind); err == nil {
		if strict, err := kjson.UnmarshalStrict(policies.Without(raw, located), object); err == nil {
			found = append(found, strictly(strict)...)
		}
	}
	return found
}

// strictly returns unknown and duplicate fields.
func strictly(errs []error) []finding.Finding {
	found := make([]finding.Finding, 0, len(errs))
	for _, err := range errs {
		rule, field := servererrors.UnknownField, ""
		if f := (kjson.FieldError)(nil); errors.As(err, &f) {
			field = f.FieldPath()
		}
		if strings.HasPrefix(err.Error(), "duplicate") {
			rule = servererrors.DuplicateField
		}
		found = append(found, of(rule, field, nil, err.Error()))
	}
	return found
}
