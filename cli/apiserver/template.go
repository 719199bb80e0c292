package apiserver

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/servererrors"
	"github.com/usher-dev/usher/verdict"
)

// templates validates the pod templates in an object of a kind that is not
// built in, at the paths of the configuration, because the server will refuse
// the pods.
func (v *Validator) templates(o *policies.Object, namespace string, f *verdict.Facts) []finding.Finding {
	if o == nil {
		return nil
	}
	var found []finding.Finding
	for _, m := range o.Undecodable {
		found = append(found, of(servererrors.Undecodable, m.Path.String(), scalar(m.Value), m.Message))
	}
	for _, t := range o.Templates {
		raw, err := json.Marshal(corev1.PodTemplate{Template: corev1.PodTemplateSpec{ObjectMeta: *t.Meta, Spec: *t.Spec}})
		if err != nil {
			return append(found, refused(t.Path.String(), nil, fmt.Sprintf("cannot be converted to a pod template: %v", err)))
		}
		template := verdict.Object{APIVersion: "v1", Kind: "PodTemplate", Namespace: namespace, JSON: named(raw)}
		for _, p := range v.Validate(template, nil, f) {
			if rest, ok := strings.CutPrefix(p.Field, "template"); ok {
				p.Field = t.Path.String() + rest
				found = append(found, p)
			}
		}
	}
	return found
}

// named gives an object a name, which it needs although it has no effect.
func named(object []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return object
	}
	fields["metadata"] = json.RawMessage(`{"name":"template"}`)
	object, _ = json.Marshal(fields) // it was valid JSON before
	return object
}
