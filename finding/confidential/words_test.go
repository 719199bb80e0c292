package confidential

import "testing"

func TestConceal_OnlyWhatIsConfidential(t *testing.T) {
	const (
		secret = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"password": "aHVudGVyMjI="}}`
		pod    = `{"apiVersion": "policies.example.io/v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [
			{"name": "c", "image": "registry/of-everybody:1", "env": [{"name": "A", "value": "policies.example.io"}, {"name": "B", "value": "hunter22"}, {"name": "C", "value": "abc"}, {"name": "D", "value": "web"}, {"name": "E", "value": "example"}]}]}}`
	)
	for name, tc := range map[string]struct{ object, text, want string }{
		"data of a Secret":              {secret, `illegal base64 data in "aHVudGVyMjI="`, `illegal base64 data in "•••"`},
		"what the data means":           {secret, "it is hunter22", "it is •••"},
		"the name of a Secret":          {secret, "secrets db", "secrets db"},
		"a variable":                    {pod, "got hunter22", "got •••"},
		"a variable within a word":      {pod, "gothunter22s", "got•••s"},
		"a short value that is quoted":  {pod, `Invalid value: "abc"`, `Invalid value: "•••"`},
		"a short value within a text":   {pod, "the abc of it", "the abc of it"},
		"a value that is in the open":   {pod, `Invalid value: "web"`, `Invalid value: "web"`},
		"the group of the object":       {pod, "policies.example.io/v1 Pod is deprecated", "policies.example.io/v1 Pod is deprecated"},
		"an object without such values": {`{"kind": "ConfigMap", "data": {"a": "hunter22"}}`, "hunter22", "hunter22"},
	} {
		if got := Of([]byte(tc.object)).Conceal(tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
