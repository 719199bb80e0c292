package network

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// asking is a pod with annotations, and a spec in addition to its container.
func asking(annotations, spec string) string {
	if spec == "" {
		spec = "containers: [{name: app, image: app}]"
	}
	return "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {" + annotations + "}}, spec: {" + spec + "}}"
}

func fromYAML(t testing.TB, text string) []byte {
	t.Helper()
	b, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
