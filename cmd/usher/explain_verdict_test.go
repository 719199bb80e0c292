package main

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/injector/template"
)

// denial returns the problems of a NEXT POD that is denied.
func denial(t *testing.T, next string) string {
	t.Helper()
	rest, denied := strings.CutPrefix(next, "  is denied\n")
	if !denied {
		t.Fatalf("the pod is not denied:\n%s", next)
	}
	var problems []string
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "    result of a dry run") || strings.HasPrefix(line, "    annotation") || strings.HasPrefix(line, "  warning") {
			break
		}
		problems = append(problems, strings.TrimSpace(line))
	}
	return strings.Join(problems, "\n")
}

// TestExplain_EverybodyHearsTheSameDenial explains a pod that the rules deny, with
// and without the right to read the templates.
func TestExplain_EverybodyHearsTheSameDenial(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {containers: [{name: app, image: 'app:1'}]}}")
	c.apply(t, ns, askingDeployment("shop", "", "", ""))
	tenant := c.tenant(t, ns, "edit")
	c.kubectl(t, "label", "namespace", ns, "policy.usher.dev/enforce=strict")
	c.until(t, "usher knows the label", func() bool {
		return strings.HasPrefix(c.explained(t, tenant, "pod/bare").next, "  is denied\n")
	})
	var said []string
	for _, kubeconfig := range []string{c.kubeconfig, tenant} {
		got := c.explained(t, kubeconfig, "pod/bare", "-n", ns)
		said = append(said, denial(t, got.next))
		if !strings.HasPrefix(got.do, "  kubectl replace --force -n "+ns+" -f FILE\n    after you have corrected in FILE what the denial names") {
			t.Errorf("DO is %q", got.do)
		}
	}
	if said[0] != said[1] || !strings.HasPrefix(said[0], "sa-default: spec.serviceAccountName: ") {
		t.Errorf("an administrator hears\n%s\nand a tenant\n%s", said[0], said[1])
	}
	// The rules judge a controller's pods with their workload.
	if got := c.explained(t, c.kubeconfig, "deployment/shop", "-n", ns); !strings.HasPrefix(got.next, "  gets nothing: ") || strings.Contains(got.next, "warning") {
		t.Errorf("%+v", got)
	}
}

// TestExplain_PodsThatTheAPIServerRefusesAreDenied explains workloads whose pods
// Pod Security and a LimitRange refuse.
func TestExplain_PodsThatTheAPIServerRefusesAreDenied(t *testing.T) {
	c := startedCluster(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	restricted, limited := c.namespace(t), c.namespace(t)
	c.kubectl(t, "label", "namespace", restricted, "pod-security.kubernetes.io/enforce=restricted")
	c.apply(t, limited, "{apiVersion: v1, kind: LimitRange, metadata: {name: small}, spec: {limits: [{type: Pod, max: {memory: 64Mi}}]}}")
	for ns, of := range map[string]struct{ verdict, dryRun string }{
		restricted: {`the namespace enforces the Pod Security level "restricted:latest": `, `violates PodSecurity "restricted:latest"`},
		limited:    {"of which at most 64Mi is allowed (LimitRange small)", "maximum memory usage per Pod is 64Mi"},
	} {
		tenant := c.tenant(t, ns, "edit")
		for name, annotations := range map[string]string{"asks": `inject.usher.dev/side: "true"`, "silent": ""} {
			c.apply(t, ns, askingDeployment(name, "", annotations, ""))
			for kubeconfig, want := range map[string]string{c.kubeconfig: of.verdict, tenant: of.dryRun} {
				got := c.explained(t, kubeconfig, "deployment/"+name, "-n", ns)
				if said := denial(t, got.next); got.now != "  no pod exists" || !strings.Contains(said, want) {
					t.Errorf("%s: %q is not in\n%s", name, want, said)
				}
				if !strings.HasPrefix(got.do, "  kubectl edit deployment/"+name+" -n "+ns+"\n") {
					t.Errorf("%s: DO is %q", name, got.do)
				}
			}
		}
	}
}

// TestExplainFile_IsTheWholeVerdict explains objects in files that the rules, Pod
// Security or the API server's validation refuse.
func TestExplainFile_IsTheWholeVerdict(t *testing.T) {
	deployment := askingDeployment("shop", "", "", "")
	for name, tt := range map[string]struct{ object, labels, denial string }{
		"nothing": {object: deployment},
		"the rules": {deployment, "policy.usher.dev/enforce=strict",
			"deploy-no-readiness: spec.template.spec.containers: "},
		"Pod Security": {deployment, "pod-security.kubernetes.io/enforce=restricted",
			`the pods will be refused: the namespace enforces the Pod Security level "restricted:latest": `},
		"the API server": {object: strings.Replace(deployment, "replicas: 1", "replicas: -1", 1),
			denial: "workload-value: spec.replicas: Invalid value: -1"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"explain", "-f", writeFile(t, "object.yaml", tt.object), "-t", seedTemplate}
			if tt.labels != "" {
				args = append(args, "--namespace-labels", tt.labels)
			}
			status, stdout, stderr := usher(t, "", args...)
			_, rest, _ := strings.Cut(stdout, "NEXT POD\n")
			next, do, _ := strings.Cut(rest, "\n\nDO\n")
			if tt.denial == "" {
				if status != cli.Clean || !strings.HasPrefix(next, "  gets nothing: ") || do != "  nothing\n" {
					t.Errorf("exit status %d: %s%s", status, stdout, stderr)
				}
				return
			}
			if status != cli.Failed || !strings.Contains(next, "  is denied\n") || !strings.Contains(next, "    "+tt.denial) || do != "  correct what the denial names\n" {
				t.Errorf("exit status %d: %s%s", status, stdout, stderr)
			}
		})
	}
}

// TestExplainFile_ARecordSaysWhatThePodKeeps explains pods as they were exported
// from a cluster, and what usher leaves of them.
func TestExplainFile_ARecordSaysWhatThePodKeeps(t *testing.T) {
	exported := func(record, containers string) string {
		return `
apiVersion: v1
kind: Pod
metadata: {name: exported, annotations: {inject.usher.dev/side: "true", usher.dev/injected: '` + record + `'}}
spec: {containers: [{name: app, image: 'app:1'}` + containers + `]}
`
	}
	old, err := template.Parse("side", map[string]string{"config": "containers: [{name: side, image: side:1}]"})
	if err != nil {
		t.Fatal(err)
	}
	template := writeFile(t, "template.yaml", templateManifest("side:2"))
	for name, tt := range map[string]struct{ pod, next, do, image string }{
		"an older version": {exported(`{"side":{"version":"`+old.Version+`","containers":["side"]}}`, ", {name: side, image: 'side:1'}"),
			"  gets side, version " + old.Version[:len("sha256:")+12] + ": already-injected (annotation inject.usher.dev/side)\n", "  nothing\n", "image: side:1"},
		"the app's own container": {exported(`{"side":{"version":"sha256:0000","containers":["app"]}}`, ""),
			"  does not get side: already-injected: the record names app, and the template adds side; usher believes the record and adds nothing (annotation inject.usher.dev/side)\n",
			"  remove the annotation usher.dev/injected of the pod, and usher adds the template\n", "image: app"},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "pod.yaml", tt.pod)
			status, stdout, stderr := usher(t, "", "explain", "-f", file, "-t", template)
			if status != cli.Clean || !strings.Contains(stdout, tt.next) || !strings.HasSuffix(stdout, "\nDO\n"+tt.do) {
				t.Errorf("exit status %d: %s%s", status, stdout, stderr)
			}
			_, left, _ := usher(t, "", "inject", "-f", file, "-t", template)
			if !strings.Contains(left, tt.image) || strings.Contains(left, "side:2") {
				t.Errorf("usher inject leaves\n%s", left)
			}
		})
	}
}

// TestExplain_ARecordThatUsherDidNotWrite explains a running pod whose author wrote
// a record that names the pod's own container: usher believes it, as for a file.
func TestExplain_ARecordThatUsherDidNotWrite(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: forged, annotations: {inject.usher.dev/side: "true", usher.dev/injected: '{"side":{"version":"sha256:0000","containers":["app"]}}'}}, `+
		`spec: {containers: [{name: app, image: 'app:1'}, {name: worker, image: 'worker:1'}]}}`)
	c.until(t, "usher knows the template", func() bool {
		return !strings.Contains(c.explained(t, c.kubeconfig, "pod/forged", "-n", ns).next, "template-missing")
	})
	got := c.explained(t, c.kubeconfig, "pod/forged", "-n", ns)
	if want := "  does not get side: already-injected: the record names app, and the template adds side; usher believes the record and adds nothing (annotation inject.usher.dev/side)\n"; !strings.HasPrefix(got.next, want) {
		t.Errorf("NEXT POD is\n%s\nwant\n%s", got.next, want)
	}
	if want := "  kubectl replace --force -n " + ns + " -f FILE\n    after you have removed the annotation usher.dev/injected in FILE"; !strings.HasPrefix(got.do, want) {
		t.Errorf("DO is\n%s\nwant\n%s", got.do, want)
	}
}
