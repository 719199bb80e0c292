package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cli/report"
)

// liveConfidential has confidential values wherever a command that asks a cluster may quote
// them: in Secrets, variables and what kubectl applied last.
const liveConfidential = `apiVersion: v1
kind: Namespace
metadata: {name: live-secrets, labels: {stage: live-secrets}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: live-secrets}
---
apiVersion: v1
kind: Secret
metadata: {name: plain, namespace: live-secrets}
stringData: {p: hunter2, q: "90210734"}
---
apiVersion: v1
kind: Secret
metadata: {name: fixed, namespace: live-secrets}
immutable: true
data: {p: aHVudGVyMg==}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: live-secrets}
type: kubernetes.io/basic-auth
stringData: {username: a, password: hunter2}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: live-secrets}
spec: {containers: [{name: web, image: "i:1", env: [{name: P, value: hunter2}, {name: Q, value: "90210734"}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: live-secrets}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "i:1", env: [{name: P, value: hunter2}]}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: web, namespace: live-secrets}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: "i:1", env: [{name: P, value: hunter2}]}]}}}
`

// printingPolicies deny Secrets and Pods with messages that contain their values.
const printingPolicies = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: live-prints}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {stage: live-secrets}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets, pods]}]
  validations: [{expression: "false", messageExpression: "'it is ' + object.?data.p.orValue('') + object.?stringData.p.orValue('') + object.?spec.containers[0].env[0].value.orValue('')"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: live-prints}
spec: {policyName: live-prints, validationActions: [Deny]}
`

// TestSecretData_OfACluster_IsInNoOutput runs the commands that ask a cluster.
func TestSecretData_OfACluster_IsInNoOutput(t *testing.T) {
	usher, _ := withLivePolicies(t, liveConfidential, printingPolicies)
	kubeconfig := asUser(t, "")
	old := []string{"hunter2", "aHVudGVyMg", "90210734"}
	changed := []string{"hunter3", "aHVudGVyMw", "90210735"}
	text := strings.NewReplacer(old[0], changed[0], old[1], changed[1], old[2], changed[2]).Replace(liveConfidential)
	dir := t.TempDir()
	file := write(t, dir, "new.yaml", text+"---\n{apiVersion: v1, kind: Secret, metadata: {name: fresh, namespace: live-secrets}, stringData: {p: hunter3, q: [hunter3]}}\n")

	quiet := func(what, output string) {
		t.Helper()
		for _, value := range append(old, changed...) {
			if at := strings.Index(output, value); at >= 0 {
				t.Errorf("%s reveals %s: …%s…", what, value, output[max(0, at-150):min(len(output), at+60)])
			}
		}
	}
	run := func(formats []string, want string, args ...string) {
		t.Helper()
		for _, format := range formats {
			args := append(args, "--kubeconfig", kubeconfig, "-o", format+"="+filepath.Join(dir, "output"))
			_, stdout, stderr := exitOf(t, usher, args...)
			written, err := os.ReadFile(filepath.Join(dir, "output"))
			if err != nil {
				t.Fatalf("%v: %s%s", err, stdout, stderr)
			}
			quiet(strings.Join(args, " "), string(stdout)+stderr+string(written))
			if format == "json" && !strings.Contains(string(written), want) {
				t.Errorf("%s lacks %q:\n%s", strings.Join(args, " "), want, written)
			}
		}
	}
	run([]string{"text", "json", "yaml", "markdown", "html"}, "field is immutable", "diff", "--live", file)
	run(report.Formats(), "live-prints", "check", "--level", "strict", "--cluster", file)
	for _, args := range [][]string{
		{"explain", "-f", file, "--cluster"}, {"explain", "pod/web", "-n", "live-secrets"}, {"explain", "deployment/web", "-n", "live-secrets"},
		{"drift", "-n", "live-secrets"}, {"status"},
		{"etcd", "doctor", "--endpoints", "http://127.0.0.1:1", "--user", "root:hunter2"},
	} {
		if args[0] != "etcd" {
			args = append(args, "--kubeconfig", kubeconfig)
		}
		_, stdout, stderr := exitOf(t, usher, args...)
		quiet(strings.Join(args[:len(args)-1], " "), string(stdout)+stderr)
	}
}
