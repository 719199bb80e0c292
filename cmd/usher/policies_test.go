package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	// ownPolicies deny and warn of Deployments.
	ownPolicies = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: ["*"], resources: [deployments]}]
  variables: [{name: d, expression: "object == null ? oldObject : object"}]
  validations:
  - {expression: "variables.d.spec.replicas <= int(params.data.max)", messageExpression: "'write at most ' + params.data.max + ' replicas'"}
  - {expression: "variables.d.metadata.?labels.team.hasValue()", message: has no team}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: strictly}
spec: {policyName: replicas, validationActions: [Deny], paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: limits}, data: {max: "2"}}
---
`
	// otherPolicies are not evaluated.
	otherPolicies = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: m}, spec: {reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: \"remove\", path: \"/a\"}]"}}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: unbound}, spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, validations: [{expression: "false"}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: of-another}, spec: {policyName: another, validationActions: [Deny]}}
---
`
	threeReplicas = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "i:1"}]}}}}
`
	deniedReplicas = "ValidatingAdmissionPolicy 'replicas' with binding 'strictly' denied request: write at most 2 replicas"
	deniedTeam     = "ValidatingAdmissionPolicy 'replicas' with binding 'strictly' denied request: has no team"
)

// TestPolicies_OfTheInput_DenyInEveryCommand lists every denial, and names what is not
// evaluated.
func TestPolicies_OfTheInput_DenyInEveryCommand(t *testing.T) {
	paths := manifests(t, ownPolicies+otherPolicies+threeReplicas, ownPolicies)
	all, without := paths[0], paths[1]
	const left = "usher does not evaluate these objects, which decide about others in a cluster: mutatingadmissionpolicy/m, validatingadmissionpolicy/unbound, validatingadmissionpolicybinding/of-another\n"
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"check":   {[]string{"check", all}, []string{all + ":26:1: invariant: " + deniedReplicas + " (denied-by-policy)\n", all + ":26:1: invariant: " + deniedTeam + " (denied-by-policy)\n"}},
		"diff":    {[]string{"diff", without, all}, []string{"Deployment web: created, but refused\n    refused, refused by the API server: " + deniedReplicas + "\n    refused, refused by the API server: " + deniedTeam + "\n", "1 refused"}},
		"explain": {[]string{"explain", "-f", all}, []string{"is denied\n    denied-by-policy: " + deniedReplicas + "\n    denied-by-policy: " + deniedTeam + "\n"}},
	} {
		status, out, errs := invoke("", tc.args...)
		if status != 1 || strings.Count(errs, left) != 1 {
			t.Errorf("%s: status %d, stderr %q", name, status, errs)
		}
		for _, want := range tc.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: stdout lacks %q:\n%s", name, want, out)
			}
		}
	}
}

// TestPolicies_ThatDoNotCompile_AreFindingsOfTheirOwn judges the rest.
func TestPolicies_ThatDoNotCompile_AreFindingsOfTheirOwn(t *testing.T) {
	broken := strings.NewReplacer("name: replicas}", "name: broken}", "int(params.data.max)", "int(params.data.max", "policyName: replicas", "policyName: broken", "name: strictly", "name: broken").Replace(ownPolicies)
	path := manifests(t, broken+ownPolicies+threeReplicas)[0]
	status, out, errs := invoke("", "check", path)
	if status != 1 || strings.Contains(errs, "not evaluate") || !strings.Contains(out, path+":10:6: invariant: spec.validations[0].expression: Invalid value:") || !strings.Contains(out, deniedReplicas) || !strings.Contains(out, deniedTeam) {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

// TestPolicies_OfTheConfiguration_ApplyToEveryCheck reads policies from the folder of
// the configuration, and objects from another.
func TestPolicies_OfTheConfiguration_ApplyToEveryCheck(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".usher.yaml", "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npaths: {policies: [policies]}\n")
	write("policies/replicas.yaml", ownPolicies)
	write("apps/web.yaml", threeReplicas)
	t.Chdir(filepath.Join(folder, "apps"))
	for _, args := range [][]string{{"check", "web.yaml"}, {"explain", "-f", "web.yaml"}} {
		status, out, errs := invoke("", args...)
		if status != 1 || !strings.Contains(out, deniedReplicas) || !strings.Contains(out, deniedTeam) {
			t.Errorf("%v: status %d\n%s%s", args, status, out, errs)
		}
	}
	status, out, errs := invoke("", "check", "-o", "json", "..")
	var result struct {
		Findings []struct {
			Rule, File, Fix string
			RefusedByServer bool
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || status != 1 {
		t.Fatalf("status %d, %v\n%s", status, err, errs)
	}
	if f := result.Findings; len(f) != 2 || f[0].Rule != "denied-by-policy" || f[0].File != "../apps/web.yaml" || !f[0].RefusedByServer || !strings.HasSuffix(f[0].Fix, " in ../policies/replicas.yaml:1") {
		t.Errorf("the policies are in the input, too: %+v", f)
	}

	write("policies/broken.yaml", strings.NewReplacer("name: replicas}", "name: broken}", "int(params.data.max)", "int(").Replace(ownPolicies))
	status, out, errs = invoke("", "check", "web.yaml")
	if status != 2 || !strings.Contains(out, deniedReplicas) || !strings.Contains(errs, filepath.Join("policies", "broken.yaml")+":1: the API server refuses validatingadmissionpolicy/broken: spec.validations[0].expression: ") {
		t.Errorf("a policy that does not compile: status %d\n%s%s", status, out, errs)
	}
	if status, out, errs = invoke("", "check", ".."); status != 1 || !strings.Contains(out, "broken.yaml:10:6: invariant: spec.validations[0].expression: ") {
		t.Errorf("a policy that does not compile, in the input, too: status %d\n%s%s", status, out, errs)
	}
	write(".usher.yaml", "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npaths: {policies: [none]}\n")
	for _, args := range [][]string{{"check", "web.yaml"}, {"explain", "-f", "web.yaml"}, {"diff", "web.yaml", "web.yaml"}} {
		if status, _, errs := invoke("", args...); status != 2 || !strings.Contains(errs, "paths.policies of the configuration: ") {
			t.Errorf("%v: policies that do not exist: status %d, %s", args, status, errs)
		}
	}
}

// TestPolicies_OfUnits_ApplyWhereTheyAreDeployed has a policy in two folders with
// different parameters, one that is only in one folder, and one in a folder with tests.
func TestPolicies_OfUnits_ApplyWhereTheyAreDeployed(t *testing.T) {
	folder := t.TempDir()
	const team = "  - {expression: \"variables.d.metadata.?labels.team.hasValue()\", message: has no team}\n"
	only := strings.NewReplacer("name: replicas}", "name: only}", "policyName: replicas", "policyName: only", "name: strictly", "name: only", team, "", "'write at most '", "'only '", "name: limits", "name: limits-of-only").Replace(ownPolicies)
	for name, content := range map[string]string{
		"dev/policies.yaml":        strings.Replace(ownPolicies, team, "", 1),
		"dev/web.yaml":             threeReplicas,
		"prod/policies.yaml":       strings.NewReplacer(team, "", "'write at most '", "'production has at most '", `max: "2"`, `max: "1"`).Replace(ownPolicies),
		"prod/web.yaml":            threeReplicas,
		"apps/web.yaml":            threeReplicas,
		"only/policies.yaml":       only,
		"tests/policies.yaml":      strings.NewReplacer("name: replicas}", "name: tests}", "policyName: replicas", "policyName: tests", "name: strictly", "name: tests").Replace(ownPolicies),
		"tests/deeper/web.yaml":    threeReplicas,
		"prod/tests/web.yaml":      threeReplicas,
		"prod/unrelated/more.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	_, out, errs := invoke("", "check", "--rule", "denied-by-policy", ".")
	var got []string
	for line := range strings.Lines(out) {
		file, rest, _ := strings.Cut(line, ":")
		_, message, _ := strings.Cut(rest, " denied request: ")
		got = append(got, file+": "+strings.TrimSuffix(strings.TrimSpace(message), " (denied-by-policy)"))
	}
	want := []string{
		"apps/web.yaml: only 2 replicas",
		"dev/web.yaml: write at most 2 replicas", "dev/web.yaml: only 2 replicas",
		"prod/web.yaml: production has at most 1 replicas", "prod/web.yaml: only 2 replicas",
		"tests/deeper/web.yaml: write at most 2 replicas", "tests/deeper/web.yaml: has no team",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("denials (-want +got):\n%s%s", diff, errs)
	}
}

// TestDiff_Policies decide about what a change does.
func TestDiff_Policies(t *testing.T) {
	warning := strings.Replace(ownPolicies, "[Deny]", "[Warn]", 1)
	four := strings.Replace(threeReplicas, "replicas: 3", "replicas: 4", 1)
	other := "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n"
	for name, tc := range map[string]struct {
		old, new       string
		status         int
		lines, without []string
		stderr         string
	}{
		"a change":             {ownPolicies + threeReplicas, ownPolicies + four, 1, []string{"Deployment web: refused\n", "spec.replicas: 3 → 4\n", deniedReplicas, deniedTeam}, nil, ""},
		"no change":            {ownPolicies + threeReplicas, ownPolicies + threeReplicas, 0, []string{"4 unchanged"}, []string{"refused"}, ""},
		"a deletion":           {ownPolicies + threeReplicas, ownPolicies + other, 1, []string{"Deployment web: deleted, but refused\n", deniedReplicas}, nil, ""},
		"a warning":            {ownPolicies + threeReplicas, warning + four, 0, []string{"Deployment web: in place\n"}, []string{"refused"}, ":19: Validation failed for ValidatingAdmissionPolicy 'replicas' with binding 'strictly': has no team\n"},
		"removed policies":     {ownPolicies + threeReplicas, four, 0, []string{"Deployment web: in place\n"}, []string{"refused"}, ""},
		"a policy that is new": {threeReplicas, ownPolicies + four, 1, []string{"Deployment web: refused\n"}, nil, ""},
	} {
		paths := manifests(t, tc.old, tc.new)
		status, out, errs := invoke("", "diff", paths[0], paths[1])
		if status != tc.status || !strings.Contains(errs, tc.stderr) {
			t.Errorf("%s: status %d, stderr %q", name, status, errs)
		}
		for _, line := range tc.lines {
			if !strings.Contains(out, line) {
				t.Errorf("%s: lacks %q:\n%s", name, line, out)
			}
		}
		for _, line := range tc.without {
			if strings.Contains(out, line) {
				t.Errorf("%s: has %q:\n%s", name, line, out)
			}
		}
	}
	paths := manifests(t, ownPolicies+other, ownPolicies+threeReplicas)
	if _, out, _ := invoke("", "diff", "-o", "markdown", paths[0], paths[1]); !strings.Contains(out, "| Deployment `web` |  | created |  |\n| Deployment `web` | `"+paths[1]+":20` | **refused**: `"+deniedReplicas+"` | the API server |\n") {
		t.Errorf("Markdown:\n%s", out)
	}
}

// TestCheck_Policies_SeeWhatTheServerAdmits: a Pod has its sidecar, a Deployment does
// not, and its opt-in is in the template of its pods.
func TestCheck_Policies_SeeWhatTheServerAdmits(t *testing.T) {
	const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["", apps], apiVersions: [v1], operations: [CREATE], resources: [pods, deployments]}]}
  variables: [{name: pod, expression: "object.kind == 'Pod' ? object : object.spec.template"}]
  validations:
  - {expression: "false", messageExpression: "'containers ' + variables.pod.spec.containers.map(c, c.name).join(' ') + ', asks ' + variables.pod.metadata.?annotations['inject.usher.dev/side'].orValue('no')"}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Deny]}}
---
`
	deployment := strings.Replace(threeReplicas, "name: web", `name: web, annotations: {inject.usher.dev/side: "true"}`, 1)
	paths := manifests(t, policy+askingPod+"\n---\n"+deployment, sideTemplate)
	_, out, errs := invoke("", "check", "--rule", "denied-by-policy", "-t", paths[1], paths[0])
	for _, want := range []string{"denied request: containers app side, asks true (", "denied request: containers c, asks true ("} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s%s", want, out, errs)
		}
	}
}
