// Package reviews writes AdmissionReviews as kube-apiserver does: the uid before
// the object, the fields of objects in the order of their Go types, and
// managedFields, whose keys contain escaped quotation marks.
package reviews

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/kinds"
)

// Write returns the review of a CREATE, or of an UPDATE if old, the object
// before, is not nil.
func Write(o, old map[string]any) ([]byte, error) {
	object, text, err := typed(o)
	if err != nil {
		return nil, err
	}
	group, version := object.GetObjectKind().GroupVersionKind().Group, object.GetObjectKind().GroupVersionKind().Version
	kind := object.GetObjectKind().GroupVersionKind().Kind
	request := &admissionv1.AdmissionRequest{
		UID: "705ab4f5-6393-11e8-b7cc-42010a800002", Operation: admissionv1.Create, Namespace: cmp.Or(object.GetNamespace(), "default"), Name: object.GetName(),
		Kind:     metav1.GroupVersionKind{Group: group, Version: version, Kind: kind},
		Resource: metav1.GroupVersionResource{Group: group, Version: version, Resource: strings.ToLower(kind) + "s"},
		UserInfo: authenticationv1.UserInfo{Username: "system:serviceaccount:kube-system:replicaset-controller", Groups: []string{"system:authenticated"}},
		Object:   runtime.RawExtension{Raw: text}, DryRun: new(false),
	}
	if old != nil {
		request.Operation = admissionv1.Update
		if _, request.OldObject.Raw, err = typed(old); err != nil {
			return nil, err
		}
	}
	return json.Marshal(&admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"}, Request: request})
}

// typed decodes an object, and encodes it as kube-apiserver does.
func typed(o map[string]any) (client.Object, []byte, error) {
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	k := kinds.Find(apiVersion, kind)
	if k == nil {
		return nil, nil, fmt.Errorf("usher does not know the kind %s of %s", kind, apiVersion)
	}
	object, ok := k.New().(client.Object)
	if !ok {
		return nil, nil, fmt.Errorf("the kind %s of %s has no metadata", kind, apiVersion)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, nil, err
	}
	fields, err := json.Marshal(owned(o))
	if err != nil {
		return nil, nil, err
	}
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: apiVersion,
		Time: &metav1.Time{Time: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
	}})
	text, err = json.Marshal(object)
	return object, text, err
}

// owned lists the fields of an object as managedFields do.
func owned(o map[string]any) map[string]any {
	fields := map[string]any{}
	for name, value := range o {
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "name", "namespace", "managedFields"}, name):
		default:
			fields["f:"+name] = below(value)
		}
	}
	return fields
}

// below lists the fields of a value: those of the items of a list by their names.
func below(value any) map[string]any {
	switch v := value.(type) {
	case map[string]any:
		return owned(v)
	case []any:
		items := map[string]any{}
		for _, item := range v {
			m, _ := item.(map[string]any)
			name, named := m["name"].(string)
			if !named {
				return map[string]any{}
			}
			fields := owned(m)
			fields["."], fields["f:name"] = map[string]any{}, map[string]any{}
			items[fmt.Sprintf(`k:{"name":%q}`, name)] = fields
		}
		return items
	}
	return map[string]any{}
}
