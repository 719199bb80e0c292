package apiserver

import (
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	kjson "sigs.k8s.io/json"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/servererrors"
)

// An untyped codec is for a kind with a schema.
type untyped struct {
	schema *structuralschema.Structural
	// preserves is true if unknown fields are kept.
	preserves bool
}

func (untyped) recognizes(schema.GroupVersionKind) bool { return true }

// read prunes unknown fields and sets the schema's defaults.
func (u untyped) read(_ schema.GroupVersionKind, raw []byte) (runtime.Object, []finding.Finding) {
	content := map[string]any{}
	strict, err := kjson.UnmarshalStrict(raw, &content)
	if err != nil {
		return nil, []finding.Finding{of(servererrors.Undecodable, "", nil, err.Error())}
	}
	found := strictly(strict)
	object := &unstructured.Unstructured{Object: content}
	apiVersion, kind := object.GetAPIVersion(), object.GetKind()
	meta, hasMeta, unknown, err := objectmeta.GetObjectMetaWithOptions(content, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, append(found, of(servererrors.Undecodable, "metadata", nil, err.Error()))
	}
	if !u.preserves {
		unknown = append(unknown, pruning.PruneWithOptions(content, u.schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
		structuraldefaulting.PruneNonNullableNullsWithoutDefaults(content, u.schema)
	}
	wrong, embedded := objectmeta.CoerceWithOptions(nil, content, u.schema, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if wrong != nil {
		return nil, append(found, of(servererrors.Undecodable, wrong.Field, scalar(wrong.BadValue), wrong.ErrorBody()))
	}
	for _, path := range append(unknown, embedded...) {
		found = append(found, of(servererrors.UnknownField, path, nil, `unknown field "`+path+`"`))
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	if hasMeta {
		if err := objectmeta.SetObjectMeta(content, meta); err != nil {
			return nil, append(found, of(servererrors.Undecodable, "metadata", nil, err.Error()))
		}
	}
	structuraldefaulting.Default(content, u.schema)
	return object, found
}

func (untyped) complete(_ schema.GroupVersionKind, object runtime.Object) (runtime.Object, error) {
	return object, nil
}

func (untyped) versioned(_ schema.GroupVersionKind, object runtime.Object) (runtime.Object, error) {
	return object, nil
}

func (untyped) apply(_ schema.GroupVersionKind, before, after, live []byte) ([]byte, error) {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, live)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(live, patch)
}
