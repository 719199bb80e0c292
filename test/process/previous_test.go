//go:build soak

package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-dev/usher/test/previous"
)

// TestThePreviousReleaseRefusesNewOptions checks templates with options that the
// previous release must not ignore: it would inject something else.
func TestThePreviousReleaseRefusesNewOptions(t *testing.T) {
	program, err := previous.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for option, names := range map[string]string{
		"{mandatory: true, tolerate: {env: {names: [AWS_*]}}}": "tolerate",
		"place: first":                        "place",
		"after: [other]":                      "after",
		"native: preferred":                   "native",
		"onConflict: {labels: {a: keep}}":     "onConflict",
		"parameters: [{name: p, type: bool}]": "parameters",
	} {
		out, err := checked(t, program, `
apiVersion: v1
kind: ConfigMap
metadata: {name: side-initializer, namespace: usher-system}
data:
  options: "`+option+`"
  config: "{labels: {a: b}, containers: [{name: side, image: 'side:1', args: ['${param.p}']}]}"
`)
		if err == nil || !strings.Contains(out, names) {
			t.Errorf("%s: %v: %s", option, err, out)
		}
	}
}

// TestThePreviousReleaseRefusesFieldsOfThePod checks templates with keys of config that
// the previous release must not ignore.
func TestThePreviousReleaseRefusesFieldsOfThePod(t *testing.T) {
	program, err := previous.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{
		"dnsConfig: {searches: [a.local]}", "shareProcessNamespace: true", "securityContext: {fsGroup: 1}", "terminationGracePeriodSeconds: 60",
	} {
		out, err := checked(t, program, `
apiVersion: v1
kind: ConfigMap
metadata: {name: side-initializer, namespace: usher-system}
data: {config: "{`+field+`, containers: [{name: side, image: 'side:1'}]}"}
`)
		if name, _, _ := strings.Cut(field, ":"); err == nil || !strings.Contains(out, name) {
			t.Errorf("%s: %v: %s", field, err, out)
		}
	}
}

// TestThePreviousReleaseReadsRecordsWithParameters judges a pod whose record has the
// values of a template's parameters, and which asks for another template.
func TestThePreviousReleaseReadsRecordsWithParameters(t *testing.T) {
	program, err := previous.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const record = `{"side":{"version":"sha256:1","options":"sha256:2","containers":["side"],"parameters":{"port":"8080"}}}`
	out, err := checked(t, program, `
apiVersion: v1
kind: ConfigMap
metadata: {name: other-initializer, namespace: usher-system}
data: {config: "containers: [{name: other, image: 'other:1'}]"}
---
apiVersion: v1
kind: Pod
metadata:
  name: app
  annotations: {inject.usher.dev/other: "true", usher.dev/injected: '`+record+`'}
spec: {containers: [{name: app, image: 'app:1'}, {name: side, image: 'side:1'}]}
`)
	if strings.Contains(out, "bad-value") || strings.Contains(out, "record") {
		t.Errorf("%v: %s", err, out)
	}
}

// checked runs a program's check of a manifest.
func checked(t *testing.T, program, manifest string) (out string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), program, "check", file)
	check.Dir = filepath.Dir(file)
	text, err := check.CombinedOutput()
	return string(text), err
}
