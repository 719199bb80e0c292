package main

import (
	"strings"
	"testing"
)

// TestCheckForetellsWhatThePodsAreRefusedFor checks a workload with its
// namespace and the LimitRange of that namespace in one file.
func TestCheckForetellsWhatThePodsAreRefusedFor(t *testing.T) {
	const template = `{apiVersion: v1, kind: ConfigMap, metadata: {name: net-initializer}, data: {config: 'initContainers: [{name: net, image: "net:1", resources: {limits: {memory: 300Mi}}, securityContext: {capabilities: {add: [NET_ADMIN]}}}]'}}`
	const workload = `---
{apiVersion: v1, kind: LimitRange, metadata: {name: small, namespace: team}, spec: {limits: [{type: Container, max: {memory: 256Mi}}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: team}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}, annotations: {inject.usher.dev/net: "true"}}, spec: {containers: [{name: app, image: "app:1"}]}}}}
`
	security := `the namespace enforces the Pod Security level "baseline:latest": non-default capabilities (container "net" must not include "NET_ADMIN"`
	limit := "container net: is limited to 300Mi of memory, at most 256Mi is allowed (LimitRange small)"
	for labels, want := range map[string][]string{
		"pod-security.kubernetes.io/enforce: baseline":   {security, limit},
		"pod-security.kubernetes.io/enforce: privileged": {limit},
	} {
		namespace := "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {" + labels + "}}}\n"
		_, stdout, stderr := usher(t, namespace+workload, "check", "-", "-t", writeFile(t, "t.yaml", template))
		for _, text := range want {
			if !strings.Contains(stdout, text) {
				t.Errorf("%s: lacks %q:\n%s%s", labels, text, stdout, stderr)
			}
		}
		if n := strings.Count(stdout, "will be refused after injection"); n != len(want) {
			t.Errorf("%s: %d refusals are foretold, want %d:\n%s", labels, n, len(want), stdout)
		}
	}
}
