package main

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// TestSecretData_IsInNoOutput gives Secrets in every form, most of them wrong, so
// that there are findings about them.
func TestSecretData_IsInNoOutput(t *testing.T) {
	const secret = "hunter2" // aHVudGVyMg==
	folder(t, map[string]string{
		"many.yaml": `apiVersion: v1
kind: Secret
metadata:
  name: a
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"p":"hunter2"}}'
stringData: {p: hunter2, q: [hunter2], r: {a: hunter2}}
strinData: {p: hunter2}
data:
  plain: hunter2 is not base64
  good: aHVudGVyMg==
  twice: aHVudGVyMg==
  twice: aHVudGVyMg==
---
{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: c}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: "{hunter2"}
---
apiVersion: v1
kind: Secret
metadata: {name: d}
data: [hunter2]
immutable: hunter2
---
apiVersion: batch/v1
kind: Job
metadata: {name: e}
spec: {template: {spec: {containers: [{name: a, image: "b:1", env: [{name: P, value: hunter2}]}]}}}
`,
		"list.json": `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"f"},"data":{"p":"aHVudGVyMg==","q":"hunter2!"},"x":1},` +
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"g"},"spec":{"template":{"spec":{"containers":[{"name":"a","image":"b:1"}]}}}}]}`,
		"typed.yaml":  "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: h}\n  data: {p: hunter2!}\n",
		"nested.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Upper}\ndata:\n  secret.yaml: |\n    kind: Secret\n    stringData: {p: hunter2}\n",
	})
	for _, format := range report.Formats() {
		status, out, errs := invoke("", "check", "--level", "strict", "-o", format, ".")
		if status != cli.Failed {
			t.Errorf("%s: status %d, %s", format, status, errs)
		}
		for _, data := range []string{secret, "aHVudGVyMg"} {
			if at := strings.Index(out+errs, data); at >= 0 {
				t.Errorf("%s contains %s: …%s…", format, data, (out + errs)[max(0, at-100):min(len(out+errs), at+60)])
			}
		}
	}
	_, out, _ := invoke("", "check", "--level", "strict", "-o", "json", ".")
	if n := strings.Count(out, `"kind": "Secret"`); n < 8 {
		t.Errorf("only %d findings are about Secrets: %s", n, out)
	}
}
