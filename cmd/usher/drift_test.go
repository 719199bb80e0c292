package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// TestDrift follows a template's change through a namespace: drift finds and
// reports the pods, restarts them as the budget allows, and then finds none.
func TestDrift(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.kubelet(t, ns)
	c.apply(t, ns, deploymentManifest("shop"))
	c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {containers: [{name: app, image: app}]}}")
	c.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: host, annotations: {inject.usher.dev/side: "true"}}, spec: {hostNetwork: true, containers: [{name: app, image: app}]}}`)
	c.apply(t, ns, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: shop}, spec: {minAvailable: 2, selector: {matchLabels: {app: shop}}}}")
	available := func() bool {
		d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == 2
	}
	c.until(t, "the Deployment is available", available)
	c.until(t, "the budget is reckoned", func() bool {
		b, err := c.PolicyV1().PodDisruptionBudgets(ns).Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && b.Status.CurrentHealthy == 2 && b.Status.ObservedGeneration == b.Generation
	})
	if status, stdout, stderr := c.usher(t, "drift", "-n", ns); status != 0 || stdout != "All pods have the current sidecars.\n" {
		t.Fatalf("exit status %d: %s%s", status, stdout, stderr)
	}

	c.apply(t, "usher-system", templateManifest("side:2"))
	// Annotated after its creation: injection did not see the annotation.
	if out, err := c.plane.Kubectl(t.Context(), "", "annotate", "-n", ns, "pod", "bare", "inject.usher.dev/side=true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	status, stdout, stderr := c.usher(t, "drift", "-n", ns)
	if status != 1 {
		t.Fatalf("exit status %d, want 1: %s", status, stderr)
	}
	if n := strings.Count(stdout, "deployment/shop   side       outdated   has version sha256:"); n != 2 {
		t.Errorf("%d pods of the Deployment are outdated, want 2:\n%s", n, stdout)
	}
	if !strings.Contains(stdout, "<none>            side       missing    annotation inject.usher.dev/side asks for it") {
		t.Errorf("the bare pod is not listed as missing:\n%s", stdout)
	}
	if strings.Contains(stdout, "host") {
		t.Errorf("a pod on the host network did not drift:\n%s", stdout)
	}

	status, _, stderr = c.usher(t, "drift", "-n", ns, "--restart", "--dry-run")
	if status != 0 || !strings.Contains(stderr, "[1/1] "+ns+"/deployment/shop would be restarted for 2 pods") {
		t.Errorf("exit status %d: %s", status, stderr)
	}
	for _, dryRun := range []string{"--dry-run=client", "--dry-run=server"} {
		status, _, stderr := c.usher(t, "drift", "deployment/shop", "-n", ns, "--restart", dryRun)
		if status != 0 || stderr != "[1/1] "+ns+"/deployment/shop would be restarted for 2 pods\n" {
			t.Errorf("%s: exit status %d: %s", dryRun, status, stderr)
		}
	}
	c.apply(t, "", denyRestarts(ns))
	c.until(t, "the API server refuses restarts", func() bool {
		status, _, stderr := c.usher(t, "drift", "deployment/shop", "-n", ns, "--restart", "--dry-run=server")
		return status == 1 && strings.Contains(stderr, "restarting "+ns+"/deployment/shop: ") && strings.Contains(stderr, "no restarts now")
	})
	if out, err := c.plane.Kubectl(t.Context(), "", "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", ns); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.until(t, "the API server allows restarts", func() bool {
		status, _, _ := c.usher(t, "drift", "deployment/shop", "-n", ns, "--restart", "--dry-run=server")
		return status == 0
	})
	if d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "shop", metav1.GetOptions{}); err != nil || d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "" {
		t.Errorf("a dry run changed the Deployment: %v", err)
	}
	for name, tc := range map[string]struct {
		args   []string
		status int
		pods   int
		stderr string
	}{
		"an owner":                  {args: []string{"deployment/shop"}, status: 1, pods: 2},
		"a pod":                     {args: []string{"pod/bare"}, status: 1, pods: 1},
		"a pod that did not drift":  {args: []string{"pod/host"}},
		"labels":                    {args: []string{"-l", "app=shop"}, status: 1, pods: 2},
		"labels of no pod":          {args: []string{"-l", "app=none"}},
		"an owner that is missing":  {args: []string{"deployment/none"}, status: 2, stderr: "deployment/none does not exist in namespace " + ns},
		"a kind that owns no pods":  {args: []string{"service/shop"}, status: 2, stderr: `"service" is not a kind of pod or owner`},
		"labels that are malformed": {args: []string{"-l", "app in"}, status: 2, stderr: `--selector is "app in"; write labels`},
		"flags that contradict each other": {args: []string{"pod/bare", "-A", "-l", "a=b", "-w", "--restart"}, status: 2,
			stderr: "--watch and --restart exclude each other: restart first, then watch\n--all-namespaces and --namespace exclude each other: write one of them\nKIND/NAME excludes --all-namespaces and --selector: name the objects, or select them\n"},
	} {
		status, stdout, stderr := c.usher(t, append([]string{"drift", "-n", ns}, tc.args...)...)
		if pods := max(0, strings.Count(stdout, "\n")-1); status != tc.status || pods != tc.pods || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("%s: exit status %d, %d pods: %s%s", name, status, pods, stdout, stderr)
		}
	}
	if status, _, _ := c.usher(t, "drift", "-n", ns, "--restart", "--timeout", "200ms"); status != 1 {
		t.Errorf("exit status %d although the budget allows no disruption", status)
	}

	if _, err := c.PolicyV1().PodDisruptionBudgets(ns).Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"spec":{"minAvailable":1}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	status, _, stderr = c.usher(t, "drift", "-n", ns, "--restart")
	if status != 0 || !strings.Contains(stderr, "[1/1] "+ns+"/deployment/shop rolled out") || !strings.Contains(stderr, ns+"/bare: not restarted, because no workload recreates it") {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	_, stdout, _ = c.usher(t, "drift", "-n", ns, "-o", "json")
	if strings.Contains(stdout, "deployment/shop") || !strings.Contains(stdout, `"pod": "bare"`) {
		t.Errorf("after the restart:\n%s", stdout)
	}
}

// denyRestarts is a policy that refuses to restart the workloads of a namespace.
func denyRestarts(ns string) string {
	return strings.ReplaceAll(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]
  validations: [{expression: "false", message: no restarts now}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS, validationActions: [Deny]}
`, "NS", ns)
}

// TestDriftWatch_PrintsEachChange follows a pod that begins to ask for a
// template, until the user interrupts.
func TestDriftWatch_PrintsEachChange(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {containers: [{name: app, image: app}]}}")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		var errs strings.Builder
		ended <- run(ctx, []string{"drift", "-w", "-n", ns, "--kubeconfig", c.kubeconfig}, streams{strings.NewReader(""), writer, &errs})
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(out)
	expect := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the output ended without %q", want)
	}
	expect("All pods have the current sidecars.")
	if out, err := c.plane.Kubectl(t.Context(), "", "annotate", "-n", ns, "pod", "bare", "inject.usher.dev/side=true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	expect("bare")
	interrupt()
	if status := <-ended; status != cli.Interrupted {
		t.Errorf("exit status %d, want %d", status, cli.Interrupted)
	}
}
