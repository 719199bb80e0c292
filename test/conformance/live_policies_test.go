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
`

const liveObjects = `apiVersion: v1
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

// withLivePolicies applies objects, and then policies about them, to the cluster, and
// returns the program usher and kubectl, which applies the text. The order matters: a
// server with a new policy may refuse an object until it sees the policy's parameters.
func withLivePolicies(t *testing.T, objects, policies string) (usher string, kubectl func(stdin string, args ...string)) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := write(t, dir, "kubeconfig", string(plane.Kubeconfig))
	usher, err := binaries.Build("../..", dir, "usher")
	if err != nil {
		t.Fatal(err)
	}
	kubectl = func(stdin string, args ...string) {
		t.Helper()
		execute(t, strings.NewReader(stdin), filepath.Join(plane.Assets, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	}
	kubectl(ceilingDefinition, "apply", "-f", "-")
	kubectl("", "wait", "--for=condition=Established", "crd/ceilings.policies.example.com")
	for _, applied := range []string{objects, policies} {
		kubectl(applied, "apply", "-f", "-")
		t.Cleanup(func() { kubectl(applied, "delete", "--wait=false", "-f", "-") })
	}
	return usher, kubectl
}

// TestDiffLive_Policies_ComeFromTheCluster compares a ConfigMap about which a policy of
// the cluster decides, with a parameter and a namespace of the cluster.
func TestDiffLive_Policies_ComeFromTheCluster(t *testing.T) {
	usher, kubectl := withLivePolicies(t, liveObjects, livePolicy)
	kubectl("", "create", "clusterrole", "configmap-reader", "--verb=get", "--resource=configmaps")
	kubectl("", "create", "clusterrolebinding", "configmap-reader", "--clusterrole=configmap-reader", "--user=configmap-reader")

	const by = "ValidatingAdmissionPolicy 'live-policy' with binding 'live-binding' denied request: "
	configMap := liveObjects[strings.LastIndex(liveObjects, "---\n")+4:]
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

// TestCheck_Cluster_JudgesAsTheClusterWould checks ConfigMaps in several namespaces with
// the definitions and the policies of a cluster, whose parameters an empty selector
// selects.
func TestCheck_Cluster_JudgesAsTheClusterWould(t *testing.T) {
	selector := "selector: {matchLabels: {live: policy}}, parameterNotFoundAction"
	if !strings.Contains(livePolicy, selector) {
		t.Fatal("the binding has no selector to replace")
	}
	// Without a controller manager, a namespace that another test deleted stays.
	check := strings.NewReplacer(selector, "selector: {}, parameterNotFoundAction", "live-", "check-", "live: policy", "check: policy")
	usher, kubectl := withLivePolicies(t, check.Replace(liveObjects), check.Replace(livePolicy))
	kubectl("", "create", "clusterrole", "definition-reader", "--verb=list", "--resource=customresourcedefinitions")
	kubectl("", "create", "clusterrolebinding", "definition-reader", "--clusterrole=definition-reader", "--user=definition-reader")
	file := write(t, t.TempDir(), "new.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: check-policies, labels: {check: policy}}
data: {size: "4"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: default, labels: {check: policy}}
data: {size: "5"}
---
apiVersion: policies.example.com/v1
kind: Ceiling
metadata: {name: another, namespace: check-policies}
spec: {max: many}
`)
	const (
		denied  = file0 + "1:1: invariant: ValidatingAdmissionPolicy 'check-policy' with binding 'check-binding' denied request: at most 3"
		invalid = "spec.max in body must be of type integer"
	)
	for name, tc := range map[string]struct {
		args       []string
		user       string
		want, lack []string
		note       string
	}{
		"with --cluster":               {args: []string{"--cluster"}, want: []string{denied, invalid}, lack: []string{"8:1:", "dropped-field"}},
		"with --cluster-crds":          {args: []string{"--cluster-crds"}, want: []string{invalid}, lack: []string{"denied request"}},
		"a user who may not read them": {args: []string{"--cluster"}, user: "definition-reader", want: []string{invalid}, lack: []string{"denied request"}, note: "the cluster's ValidatingAdmissionPolicies are not evaluated: "},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := exitOf(t, usher, append([]string{"check", file, "--kubeconfig", asUser(t, tc.user)}, tc.args...)...)
			if status != 1 || strings.Contains(stderr, "ValidatingAdmissionPolicies are not evaluated") != (tc.note != "") || !strings.Contains(stderr, tc.note) {
				t.Errorf("status %d; stderr %s", status, stderr)
			}
			out := strings.ReplaceAll(string(stdout), file+":", file0)
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("stdout lacks %q:\n%s", want, out)
				}
			}
			for _, lack := range tc.lack {
				if strings.Contains(out, lack) {
					t.Errorf("stdout has %q:\n%s", lack, out)
				}
			}
		})
	}

	pod := write(t, t.TempDir(), "pod.yaml", `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: check-policies, labels: {check: policy}}
spec: {containers: [{name: web, image: "i:1"}]}
`)
	onlyPolicy, _, _ := strings.Cut(livePolicy, "---\n")
	kubectl(strings.NewReplacer("configmaps", "pods", "int(object.data.size) <= params.spec.max", "size(object.spec.containers) > params.spec.max", "live-", "check-", "live: policy", "check: policy").Replace(onlyPolicy), "apply", "-f", "-")
	status, stdout, stderr := exitOf(t, usher, "explain", "-f", pod, "--cluster", "--kubeconfig", asUser(t, ""))
	if status != 1 || !strings.Contains(string(stdout), "ValidatingAdmissionPolicy 'check-policy' with binding 'check-binding' denied request: at most 3") {
		t.Errorf("explain: status %d\n%s%s", status, stdout, stderr)
	}
}

// file0 stands for the checked file in what is expected.
const file0 = "FILE:"
