package main

import (
	"cmp"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// TestCheckAndInjectAgree checks the same files with both commands: they must
// agree about an object, including the exit status.
func TestCheckAndInjectAgree(t *testing.T) {
	asks := strings.Replace(soundPod, "metadata: {name: web}", `metadata: {name: web, namespace: team, annotations: {inject.usher.dev/logs: "true"}}`, 1)
	own := strings.Replace(plainTemplate, "name: logs-initializer", "name: logs-initializer, namespace: usher-system", 1)
	for name, c := range map[string]struct {
		text, says string
		status     int
		inject     int // the status of inject, if it differs
	}{
		"a label that YAML takes for a boolean": {
			text:   "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {policy.usher.dev/enforce: off, inject.usher.dev/templates: logs}}\n---\n" + own,
			says:   "is false, which is not a string",
			status: cli.Failed,
		},
		"a template without config": {
			text:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logs-initializer}\ndata: {}\n",
			says:   "is missing; write the containers",
			status: cli.Failed,
			inject: cli.Usage, // nobody knows which objects the template selects
		},
		"two ConfigMaps of one template": {
			text: own + "---\n" + strings.Replace(own, "name: logs-initializer", "name: other, labels: {usher.dev/template: logs}", 1),
			says: `the ConfigMap logs-initializer already holds the template "logs"`, status: cli.Failed,
		},
		"two documents of one ConfigMap": {
			text: own + "---\n" + own, says: "the first is injected",
		},
		"a template that does not exist": {
			text: strings.Replace(asks, "/logs", "/lost", 1) + "---\n" + own, says: `asks for the template "lost", which does not exist`, status: cli.Failed,
		},
		"a ReplicationController whose own metadata asks": {
			// Its pods do not get the annotation, and no webhook copies it.
			text: "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc, annotations: {inject.usher.dev/lost: \"true\"}}\n" +
				"spec: {replicas: 1, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}\n---\n" + own,
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{})
			checked, out, errs := command(c.text, "check", "-")
			if checked != c.status || !strings.Contains(out+errs, c.says) {
				t.Errorf("check: status %d, want %d with %q\n%s%s", checked, c.status, c.says, out, errs)
			}
			injected, out, errs := command(c.text, "inject", "-f", "-")
			if injected != cmp.Or(c.inject, c.status) || !strings.Contains(out+errs, c.says) {
				t.Errorf("inject: status %d, want %d with %q\n%s%s", injected, c.status, c.says, out, errs)
			}
		})
	}
}

func TestDiff_NewThatTheServerRefuses_IsRefused(t *testing.T) {
	paths := manifests(t, oldManifests, strings.Replace(oldManifests, "selector: {matchLabels: {app: web}}", "selector: {matchLabels: {app: web}}\n  minReadySeconds: -1", 1))
	status, out, errs := invoke("", "diff", paths[0], paths[1])
	if status != cli.Failed || !strings.Contains(out, "refused by the API server") || !strings.Contains(out, "minReadySeconds") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

func TestCheck_EnforceOffWithoutWarn_IsNotSent(t *testing.T) {
	folder(t, map[string]string{})
	idle := strings.Replace(zeroWork, "name: idle", "name: idle\n  namespace: team", 1)
	status, out, errs := command(labelledNamespace(`policy.usher.dev/enforce: "off", policy.usher.dev/audit: strict`)+"---\n"+idle, "check", "-")
	if status != cli.Clean || out != "" {
		t.Errorf("status %d: the API server sends nothing of such a namespace\n%s%s", status, out, errs)
	}
}

func TestCheckAndInject_TwoConfigMapsGivenAsOneTemplate_AgreeWithTheCluster(t *testing.T) {
	second := strings.Replace(plainTemplate, "name: logs-initializer", "name: a-logs, labels: {usher.dev/template: logs}", 1)
	folder(t, map[string]string{"t/1.yaml": plainTemplate, "t/2.yaml": second, "pod.yaml": soundPod})
	const says = `the ConfigMap a-logs already holds the template "logs"`
	if status, out, errs := command("", "check", "-t", "t", "pod.yaml"); status != cli.Failed || !strings.Contains(out, says) {
		t.Errorf("check: status %d\n%s%s", status, out, errs)
	}
	if status, out, errs := command("", "inject", "-t", "t", "-f", "pod.yaml"); status != cli.Failed || !strings.Contains(errs, says) {
		t.Errorf("inject: status %d\n%s%s", status, out, errs)
	}
}
