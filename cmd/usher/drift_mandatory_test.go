package main

import (
	"strings"
	"testing"
)

// TestDrift_ListsWhatAMandatoryTemplateWouldDeny makes a template mandatory
// after another webhook changed the sidecars, and makes a namespace ask for a
// template that a pod refuses.
func TestDrift_ListsWhatAMandatoryTemplateWouldDeny(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	manifest := func(options string) string {
		return strings.Replace(templateManifest("side:1"), ", data: {", ", data: {options: '"+options+"', ", 1)
	}
	c.apply(t, "usher-system", manifest(""))
	for _, pod := range []string{"kept", "pinned"} {
		c.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: `+pod+`, annotations: {inject.usher.dev/side: "true"}}, spec: {containers: [{name: app, image: app}]}}`)
	}
	c.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: refusing, annotations: {inject.usher.dev/side: "false"}}, spec: {containers: [{name: app, image: app}]}}`)
	for _, args := range [][]string{
		{"set", "image", "-n", ns, "pod/pinned", "side=mirror.example.com/side:1"},
		{"label", "namespace", ns, "inject.usher.dev/templates=side"},
	} {
		if out, err := c.plane.Kubectl(t.Context(), "", args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	listed := func() string {
		t.Helper()
		status, stdout, stderr := c.usher(t, "drift", "-n", ns)
		if status > 1 {
			t.Fatalf("exit status %d: %s", status, stderr)
		}
		var denied []string
		for line := range strings.Lines(stdout) {
			if fields := strings.Fields(line); len(fields) > 4 && fields[4] == "denied" {
				denied = append(denied, fields[1])
			}
		}
		return strings.Join(denied, " ")
	}
	if got := listed(); got != "" {
		t.Errorf("before the template is mandatory: %s", got)
	}
	for options, want := range map[string]string{
		"mandatory: true": "pinned refusing", "{mandatory: true, tolerate: [image]}": "refusing", "{mandatory: true, optOut: allow}": "pinned",
	} {
		c.apply(t, "usher-system", manifest(options))
		if got := listed(); got != want {
			t.Errorf("%s: %q are denied, want %q", options, got, want)
		}
	}
	c.apply(t, "usher-system", manifest(""))
}
