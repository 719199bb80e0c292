package deploy_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/webhook"
)

// TestTwoInstallationsShareACluster installs the chart twice. Each installation
// has its own templates and namespaces.
func TestTwoInstallationsShareACluster(t *testing.T) {
	t.Parallel()
	plane, err := controlplane.Start(t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plane.Stop() })
	c := &cluster{plane: plane}
	if c.Clientset, err = kubernetes.NewForConfig(plane.Config); err != nil {
		t.Fatal(err)
	}
	stop, _, err := plane.StartControllerManager("garbage-collector-controller,namespace-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	kubeconfig, remove, err := plane.KubeconfigFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	chart := absolute(t, "chart/usher")
	release := func(args ...string) (string, error) {
		return helm(t, "", append(args, "--kubeconfig", kubeconfig)...)
	}
	install := func(args ...string) {
		if out, err := release(append([]string{"install", "--create-namespace"}, args...)...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	replica := func(namespace, fullname string, selector *metav1.LabelSelector) *usherwebhook.Server {
		u, err := usherwebhook.StartReplica(t.Context(), plane, logr.Discard(), func(o *webhook.Options) {
			o.Namespace, o.NamespaceSelector = namespace, selector
			o.ConfigurationName, o.ProofNamespace, o.OwnerClusterRole = fullname, fullname+"-proof", fullname+"-webhook"
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = u.Stop() })
		return u
	}

	install("usher", chart, "-n", controlplane.Namespace, "--set", "namespaceSelector=team!=b")
	first := replica(controlplane.Namespace, "usher", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"b"}}}})
	if out, err := release("install", "canary", chart, "-n", "canary", "--create-namespace"); err == nil || !strings.Contains(err.Error(), "controller.enabled=false") {
		t.Errorf("a second release with controllers is installed: %v\n%s", err, out)
	}
	install("canary", chart, "-n", "canary", "--set", "namespaceSelector=team=b,crds.install=false,controller.enabled=false")
	second := replica("canary", "canary-usher", &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}})

	c.apply(t, controlplane.Namespace, `{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: "containers: [{name: first, image: 'side:1'}]"}}`)
	c.apply(t, "canary", `{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: "containers: [{name: second, image: 'side:1'}]"}}`)
	const asks = `{apiVersion: v1, kind: Pod, metadata: {name: asks, annotations: {inject.usher.dev/side: "true"}}, spec: {containers: [{name: app, image: 'app:1'}]}}`
	names := func(namespace string) string {
		out, err := plane.Kubectl(t.Context(), "---\n"+strings.Replace(asks, "name: asks", "generateName: asks-", 1), "create", "-n", namespace, "-f", "-", "--dry-run=server", "-o", "jsonpath={.spec.containers[*].name} {.spec.initContainers[*].name}")
		if err != nil {
			return out
		}
		return strings.TrimSpace(out)
	}
	a := c.newNamespace(t, map[string]string{"team": "a", wellknown.LabelEnforce: "baseline"})
	b := c.newNamespace(t, map[string]string{"team": "b", wellknown.LabelEnforce: "baseline"})
	for namespace, want := range map[string]string{a: "app first", b: "app second"} {
		c.until(t, "only the installation of namespace "+namespace+" injects there", func() bool { return names(namespace) == want })
	}
	t.Run("a review of a namespace that an installation does not serve", func(t *testing.T) {
		body := reviewOfPod(b)
		if _, answer := c.review(t, "/mutate", body); !strings.Contains(answer, "namespace-excluded") || strings.Contains(answer, "patch") {
			t.Errorf("usher answers %s", answer)
		}
	})
	t.Run("usher explain", func(t *testing.T) {
		c.apply(t, b, asks)
		for own, want := range map[string]string{"canary": "gets side", controlplane.Namespace: "gets nothing: usher does not change pods in this namespace"} {
			out := c.usher(t, kubeconfig, "explain", "pod", "asks", "-n", b, "--usher-namespace", own)
			_, next, _ := strings.Cut(out, "NEXT POD\n")
			if !strings.HasPrefix(strings.TrimSpace(next), want) {
				t.Errorf("of the installation in %s it says\n%s\nwant %q", own, out, want)
			}
		}
	})
	t.Run("removal of one leaves the other", func(t *testing.T) {
		if out := c.usher(t, kubeconfig, "uninstall", "--namespace", "canary", "--dry-run=client"); !strings.Contains(out, "MutatingWebhookConfiguration canary-usher: would be removed") || strings.Contains(out, "Configuration usher:") {
			t.Errorf("usher uninstall says\n%s", out)
		}
		if err := second.Stop(); err != nil {
			t.Fatal(err)
		}
		if out, err := release("uninstall", "canary", "-n", "canary"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		c.until(t, "nothing of it is left", func() bool {
			left := c.kubectl(t, "get", "clusterroles,clusterrolebindings,namespaces,validatingadmissionpolicies,"+registrations, "-o", "name")
			return !strings.Contains(left, "canary-usher")
		})
		if got := names(b); got != "app" {
			t.Errorf("where it served, the pod has the containers %s", got)
		}
		if got := names(a); got != "app first" {
			t.Errorf("where the other serves, the pod has the containers %s", got)
		}
	})
	t.Run("an outage of one leaves the namespaces of others", func(t *testing.T) {
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
		create := func(namespace string) (string, error) {
			return plane.Kubectl(t.Context(), "---\n"+workload, "create", "-n", namespace, "-f", "-", "--dry-run=server")
		}
		if out, err := create(a); err == nil || !strings.Contains(out, "failed calling webhook") {
			t.Errorf("where it serves and enforces, the API server says %q", out)
		}
		if out, err := create(b); err != nil {
			t.Errorf("where it does not serve, the API server says %q", out)
		}
	})
}

// usher runs the command line, and returns its output.
func (c *cluster) usher(t *testing.T, kubeconfig string, args ...string) string {
	t.Helper()
	var complaints strings.Builder
	cmd := exec.Command(filepath.Join(programs(t), "usher"), append(args, "--kubeconfig", kubeconfig)...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("usher %s: %v\n%s%s", args[0], err, out, complaints.String())
	}
	return string(out)
}

func reviewOfPod(namespace string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"version":"v1","kind":"Pod"},"namespace":"` + namespace +
		`","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"` + wellknown.InjectPrefix + `side":"true"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`
}
