//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

// namespace creates a namespace for the test; if the test fails, it shows the
// pods and logs.
func (c *cluster) namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.node.Dump(context.Background(), t.Output(), ns.Name, usher.Namespace)
		}
		if err := c.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return ns.Name
}

// apply is kubectl apply; it returns kubectl's output, including warnings.
func (c *cluster) apply(t *testing.T, namespace, manifest string) string {
	t.Helper()
	out, err := c.tryApply(t, namespace, manifest)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func (c *cluster) tryApply(t *testing.T, namespace, manifest string) (string, error) {
	t.Helper()
	// kubectl parses what begins with a brace as JSON.
	return c.node.Kubectl(t.Context(), "---\n"+manifest, "apply", "-n", namespace, "-f", "-")
}

// kubectl runs kubectl, which must succeed.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.node.Kubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// template applies a template, and removes it after the test. It returns kubectl's
// output.
func (c *cluster) template(t *testing.T, manifest string) string {
	t.Helper()
	out := c.apply(t, usher.Namespace, manifest)
	t.Cleanup(func() {
		if out, err := c.node.Kubectl(context.Background(), "---\n"+manifest, "delete", "-n", usher.Namespace, "-f", "-"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return out
}

// until waits for effects of pods.
func (c *cluster) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// rolledOut waits for a Deployment.
func (c *cluster) rolledOut(t *testing.T, namespace, name string) {
	t.Helper()
	c.kubectl(t, "rollout", "status", "-n", namespace, "deployment/"+name, "--timeout=180s")
}

// pods returns those with a label that are not being deleted.
func (c *cluster) pods(t *testing.T, namespace, selector string) []corev1.Pod {
	t.Helper()
	list, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	var pods []corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, list.Items[i])
		}
	}
	return pods
}

// get requests a path of a pod or service, such as "pods/name:8080", through
// the API server, so that the test may run anywhere.
func (c *cluster) get(t *testing.T, namespace, resource, path string) (string, error) {
	t.Helper()
	body, err := c.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/" + namespace + "/" + resource + "/proxy" + path).DoRaw(t.Context())
	return string(body), err
}

// logged waits until a container has logged a text.
func (c *cluster) logged(t *testing.T, namespace, pod, container, text string) {
	t.Helper()
	c.until(t, container+" of "+pod+" logs "+text, func() bool {
		log, err := c.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
		return err == nil && strings.Contains(string(log), text)
	})
}

// names returns the names of containers, in order.
func names(containers []corev1.Container) []string {
	var names []string
	for i := range containers {
		names = append(names, containers[i].Name)
	}
	return names
}

// fixture reads a file of testdata.
func fixture(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deployed reads a shipped template from deploy/templates.
func deployed(t *testing.T, name string) string {
	t.Helper()
	root, err := node.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "templates", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// takeover is the template envoy-takeover with another name, so that tests do
// not conflict, and with the image's name set as users do.
func takeover(t *testing.T, name string) string {
	t.Helper()
	text := edited(t, deployed(t, "envoy-takeover.yaml"), "name: envoy-takeover-initializer", "name: "+name+"-initializer")
	return edited(t, text, `image: "usher"`, "image: "+usher.PodImage)
}

// edited replaces a unique part of a text.
func edited(t *testing.T, text, old, now string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q is in the text %d times, want once:\n%s", old, n, text)
	}
	return strings.Replace(text, old, now, 1)
}
