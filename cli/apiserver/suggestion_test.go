package apiserver

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/verdict"
)

func TestValidate_UnknownField_SuggestsAKnownOne(t *testing.T) {
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	const definition = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
"properties": {"size": {"type": "integer"}, "parts": {"type": "array", "items": {"type": "object", "properties": {"colour": {"type": "string"}}}}}}}}}}]}}`
	if refusals, _, err := v.Define([]byte(definition)); len(refusals) > 0 || err != nil {
		t.Fatal(refusals, err)
	}
	for object, want := range map[string]string{
		`"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replcas": 1}`:                                                       `unknown field "spec.replcas": did you mean replicas?`,
		`"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"imagePullPolcy": "Always"}]}`:                                   `unknown field "spec.containers[0].imagePullPolcy": did you mean imagePullPolicy?`,
		`"apiVersion": "v1", "kind": "Pod", "metadat": {}`:                                                                            `unknown field "metadat": did you mean metadata?`,
		`"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": [{"persistentVolumeClam": {}}]}`:                                      `unknown field "spec.volumes[0].persistentVolumeClam": did you mean persistentVolumeClaim?`,
		`"apiVersion": "v1", "kind": "Pod", "spec": {"quite": "another"}`:                                                             `unknown field "spec.quite"`,
		`"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"sise": 1}`:                                                        `unknown field "spec.sise": did you mean size?`,
		`"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"parts": [{"color": "red"}]}`:                                      `unknown field "spec.parts[0].color": did you mean colour?`,
		`"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"rules": [{"http": {"paths": [{"pathtype": "Prefix"}]}}]}`: `unknown field "spec.rules[0].http.paths[0].pathtype": did you mean pathType?`,
	} {
		var head struct{ APIVersion, Kind string }
		raw := []byte("{" + object + "}")
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range v.Validate(verdict.Object{APIVersion: head.APIVersion, Kind: head.Kind, JSON: raw}, nil, &verdict.Facts{}) {
			if f.Rule == "unknown-field" {
				got = append(got, f.Message)
			}
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", object, diff)
		}
	}
}
