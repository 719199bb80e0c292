package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	deciding = `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: x}, spec: {hard: {pods: "1"}}}
---
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: k}}
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: K8sRequiredLabels, metadata: {name: g}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: other}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: usher, labels: {app.kubernetes.io/managed-by: usher}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`
	policiesNote = "usher does not evaluate these objects, which decide about others in a cluster: " +
		"x/resourcequota/q, clusterpolicy/k, k8srequiredlabels/g, validatingwebhookconfiguration/other\n"
)

// TestNotEvaluated_IsNamedByEveryCommand: objects that decide about others do not
// change the status, and every command that judges files names them.
func TestNotEvaluated_IsNamedByEveryCommand(t *testing.T) {
	paths := manifests(t, deciding+"---\n"+askingPod, deciding, sideTemplate)
	all, old, side := paths[0], paths[1], paths[2]
	for name, args := range map[string][]string{
		"check":   {"check", "--fail-on", "off", "-t", side, all},
		"diff":    {"diff", old, all},
		"inject":  {"inject", all, "-t", side},
		"explain": {"explain", "pod", "-f", all, "-t", side},
	} {
		status, _, errs := invoke("", args...)
		if status != 0 || strings.Count(errs, policiesNote) != 1 {
			t.Errorf("%s: status %d, stderr %q", name, status, errs)
		}
	}
	var names struct {
		NotEvaluated []struct {
			Kind, Name, File string
			Line             int
		}
	}
	for name, args := range map[string][]string{"check": {"check", "--fail-on", "off", "-o", "json", old}, "diff": {"diff", "-o", "json", old, old}} {
		_, out, errs := invoke("", args...)
		if err := json.Unmarshal([]byte(out), &names); err != nil {
			t.Fatalf("%v: %s%s", err, out, errs)
		}
		if n := names.NotEvaluated; len(n) != 4 || n[3].Name != "other" || n[3].File != old || n[3].Line != 6 {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// TestNotEvaluated_SARIF names the objects where readers of SARIF look for what a
// tool could not do.
func TestNotEvaluated_SARIF(t *testing.T) {
	path := writeFile(t, "q.yaml", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: x}, spec: {hard: {pods: '1'}}}")
	_, out, _ := invoke("", "check", "-o", "sarif", path)
	var log struct {
		Runs []struct{ Invocations json.RawMessage }
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(log.Runs[0].Invocations, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`[{"executionSuccessful": true, "toolExecutionNotifications": [{
	  "descriptor": {"id": "notEvaluated"}, "level": "note",
	  "message": {"text": "x/resourcequota/q decides about other objects in a cluster, and usher does not evaluate it"},
	  "locations": [{"physicalLocation": {"artifactLocation": {"uri": "`+path+`"}, "region": {"startLine": 1, "startColumn": 1}}}]}]}]`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	if _, out, _ := invoke("", "check", "-o", "sarif", writeFile(t, "c.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")); strings.Contains(out, "invocations") {
		t.Errorf("without such objects: %s", out)
	}
}
