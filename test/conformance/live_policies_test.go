package conformance

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-dev/usher/test/binaries"
)

const livePolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: live-policy}
spec:
  paramKind: {apiVersion: policies.example.com/v1, kind: Ceiling}
  matchConstraints:
    namespaceSelector: {matchLabels: {stage: live}}
    objectSelector: {matchLabels: {live: policy}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations: [{expression: int(object.data.size) <= params.spec.max, messageExpression: "'at most ' + string(params.spec.max)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: live-binding}
spec: {policyName: live-policy, validationActions: [Deny], paramRef: {selector: {matchLabels: {live: policy}}, parameterNotFoundAction: Deny}}
---
apiVersion: v1
kind: Namespace
metadata: {name: live-policies, labels: {stage: live}}
---
apiVersion: policies.example.com/v1
kind: Ceiling
metadata: {name: ceiling, namespace: live-policies, labels: {live: policy}}
spec: {max: 3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: live-policies, labels: {live: policy}}
data: {size: "1"}
`

const ceilingDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ceilings.policies.example.com}
spec:
  group: policies.example.com
  scope: Namespaced
  names: {plural: ceilings, singular: ceiling, kind: Ceiling}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {max: {type: integer}}}}}}}]
`

// TestDiffLive_Policies_ComeFromTheCluster compares a ConfigMap about which a policy of
// the cluster decides, with a parameter and a namespace of the cluster.
func TestDiffLive_Policies_ComeFromTheCluster(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := write(t, dir, "kubeconfig", string(plane.Kubeconfig))
	usher, err := binaries.Build("../..", dir, "usher")
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(stdin string, args ...string) {
		t.Helper()
		execute(t, strings.NewReader(stdin), filepath.Join(plane.Assets, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	}
	kubectl(ceilingDefinition, "apply", "-f", "-")
	kubectl("", "wait", "--for=condition=Established", "crd/ceilings.policies.example.com")
	kubectl(livePolicy, "apply", "-f", "-")
	t.Cleanup(func() { kubectl(livePolicy, "delete", "--wait=false", "-f", "-") })
	kubectl("", "create", "clusterrole", "configmap-reader", "--verb=get", "--resource=configmaps")
	kubectl("", "create", "clusterrolebinding", "configmap-reader", "--clusterrole=configmap-reader", "--user=configmap-reader")

	const by = "ValidatingAdmissionPolicy 'live-policy' with binding 'live-binding' denied request: "
	configMap := livePolicy[strings.LastIndex(livePolicy, "---\n")+4:]
	for name, tc := range map[string]struct {
		edit   [2]string
		user   string
		status int
		denial string
		stderr string
	}{
		"a change that it admits":        {edit: [2]string{`size: "1"`, `size: "3"`}},
		"a change that it denies":        {edit: [2]string{`size: "1"`, `size: "4"`}, status: 1, denial: by + "at most 3"},
		"a new object":                   {edit: [2]string{"name: web", "name: api"}},
		"a new object that it denies":    {edit: [2]string{"name: web, namespace: live-policies, labels: {live: policy}}\ndata: {size: \"1\"", "name: api, namespace: live-policies, labels: {live: policy}}\ndata: {size: \"5\""}, status: 1, denial: by + "at most 3"},
		"an object in another namespace": {edit: [2]string{"namespace: live-policies", "namespace: default"}},
		"a user who may not read it":     {edit: [2]string{`size: "1"`, `size: "4"`}, user: "configmap-reader", stderr: "the cluster's ValidatingAdmissionPolicies are not evaluated: "},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, t.TempDir(), "new.yaml", strings.Replace(configMap, tc.edit[0], tc.edit[1], 1))
			status, stdout, stderr := diffLive(t, usher, asUser(t, tc.user), file)
			if stderr = withoutNote(stderr); status != tc.status || !strings.HasPrefix(stderr, tc.stderr) || tc.stderr == "" && stderr != "" {
				t.Errorf("status %d, want %d; stderr %s", status, tc.status, stderr)
			}
			if denied := strings.Contains(string(stdout), by); denied != (tc.denial != "") || !strings.Contains(string(stdout), tc.denial) {
				t.Errorf("stdout lacks %q, or denies:\n%s", tc.denial, stdout)
			}
		})
	}
}
