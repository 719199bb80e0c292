//go:build e2e

package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

// The tests in this file stop usher for all others, so they run by themselves,
// before the parallel ones.

// scale sets the number of usher's replicas and waits.
func (c *cluster) scale(t *testing.T, replicas string) {
	t.Helper()
	c.kubectl(t, "scale", "-n", usher.Namespace, "deployment/usher-webhook", "--replicas="+replicas)
	c.rolledOut(t, usher.Namespace, "usher-webhook")
	if replicas == "0" {
		c.kubectl(t, "wait", "-n", usher.Namespace, "--for=delete", "pod", "-l", usher.Pods, "--timeout=120s")
	}
}

// TestWithoutUsherPodsAreCreatedAsEver scales usher to zero: other pods are
// unaffected, and pods that ask start without the sidecar, and are listed
// afterwards.
func TestWithoutUsherPodsAreCreatedAsEver(t *testing.T) {
	c := shared
	c.agentTemplate(t, "absent", "false")
	ns := c.namespace(t, nil)
	c.scale(t, "0")
	t.Cleanup(func() {
		if out, err := c.node.Kubectl(context.Background(), "", "scale", "-n", usher.Namespace, "deployment/usher-webhook", "--replicas=2"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	for name, annotations := range map[string]string{"plain": "", "asks": `inject.usher.dev/absent: "true"`} {
		c.apply(t, ns, pod(name, annotations, ""))
		c.kubectl(t, "wait", "-n", ns, "--for=condition=Ready", "pod/"+name, "--timeout=120s")
		if diff := cmp.Diff([]string{"app"}, c.containers(t, ns, name)); diff != "" {
			t.Errorf("%s: containers (-want +got):\n%s", name, diff)
		}
	}

	c.scale(t, "2")
	if err := c.usher.UntilDeciding(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := c.usher.Run(t.Context(), "drift", "-n", ns)
	if status != 1 || !strings.Contains(stdout, "asks") || strings.Contains(stdout, "plain") {
		t.Errorf("usher drift: exit status %d, want 1 and the pod that asked:\n%s%s", status, stdout, stderr)
	}
}

// TestUsherComesBackByItself deletes every replica at once.
func TestUsherComesBackByItself(t *testing.T) {
	c := shared
	c.agentTemplate(t, "back", "false")
	ns := c.namespace(t, nil)
	c.kubectl(t, "delete", "pods", "-n", usher.Namespace, "-l", usher.Pods, "--now")
	if err := c.usher.UntilDeciding(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.rolledOut(t, usher.Namespace, "usher-webhook")
	c.injects(t, ns, "after", "back")
}

// TestUsherSurvivesARestartOfTheAPIServer restarts it while a template is in
// use.
func TestUsherSurvivesARestartOfTheAPIServer(t *testing.T) {
	c := shared
	c.needsMachine(t)
	c.agentTemplate(t, "restarted", "false")
	ns := c.namespace(t, nil)
	c.injects(t, ns, "before", "restarted")
	if err := c.node.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.usher.UntilDeciding(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.injects(t, ns, "after", "restarted")
}

// TestEverythingComesBackWhenTheClusterIsTurnedOffAndOn ends every program and
// pod of the node. usher recovers without human intervention.
func TestEverythingComesBackWhenTheClusterIsTurnedOffAndOn(t *testing.T) {
	c := shared
	c.needsMachine(t)
	c.template(t, takeover(t, "off-and-on"))
	ns := c.namespace(t, nil)
	c.apply(t, ns, edited(t, fixture(t, "takeover.yaml"), "TEMPLATE", "off-and-on"))
	c.rolledOut(t, ns, "app")
	name := c.pods(t, ns, "app=app")[0].Name
	restarts := c.restarts(t, ns, name)

	if err := c.node.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.node.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.until(t, "the injected pod was started again", func() bool { return c.restarts(t, ns, name) > restarts })
	c.kubectl(t, "wait", "-n", ns, "--for=condition=Ready", "pod/"+name, "--timeout=180s")
	c.reaches(t, ns, "pods/"+name+":8080", "/after-the-lights-went-on")
	c.logged(t, ns, name, "envoy", "/after-the-lights-went-on")
	if err := c.usher.UntilDeciding(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.rolledOut(t, usher.Namespace, "usher-webhook")
}

// needsMachine skips what needs the machine's node.
func (c *cluster) needsMachine(t *testing.T) {
	t.Helper()
	if !c.node.Owned() {
		t.Skip(node.ErrNoMachine)
	}
}

// injects creates a pod that asks, and waits until it runs with its agent.
func (c *cluster) injects(t *testing.T, namespace, name, template string) {
	t.Helper()
	c.apply(t, namespace, pod(name, "inject.usher.dev/"+template+`: "true"`, ""))
	if diff := cmp.Diff([]string{"app", "agent"}, c.containers(t, namespace, name)); diff != "" {
		t.Errorf("%s: containers (-want +got):\n%s", name, diff)
	}
	c.kubectl(t, "wait", "-n", namespace, "--for=condition=Ready", "pod/"+name, "--timeout=120s")
}

// restarts counts the restarts of a pod's containers.
func (c *cluster) restarts(t *testing.T, namespace, name string) int32 {
	t.Helper()
	pod, err := c.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return 0 // the API server has just started to serve
	}
	var n int32
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}
