//go:build e2e

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/cluster/usher"
)

// TestNoRequestIsLostWhileInjectedPodsAreReplaced replaces the pods twice under
// traffic: with a new release of the application, then with a new version of
// the template. The proxy is a native sidecar, so it ends after the
// application.
func TestNoRequestIsLostWhileInjectedPodsAreReplaced(t *testing.T) {
	t.Parallel()
	c := shared
	template := takeover(t, "rolled")
	c.template(t, template)
	ns := c.namespace(t, nil)
	config, _, _ := strings.Cut(fixture(t, "takeover.yaml"), "---\napiVersion: apps/v1")
	c.apply(t, ns, config)
	c.apply(t, ns, fixture(t, "rollout.yaml"))
	c.rolledOut(t, ns, "app")
	c.until(t, "there is traffic", func() bool { return c.traffic(t, ns).Answered > 0 })
	before := c.traffic(t, ns)

	// Old and new pods answer both in the meantime, through their proxies.
	c.kubectl(t, "set", "env", "-n", ns, "deployment/app", "RELEASE=2")
	c.rolledOut(t, ns, "app")
	first := c.versions(t, ns)
	if len(first) != 1 {
		t.Fatalf("the pods have the versions %v, want one", first)
	}

	c.apply(t, usher.Namespace, edited(t, template, "memory: 512Mi", "memory: 384Mi"))
	c.until(t, "usher drift lists both pods", func() bool {
		status, stdout, _ := c.usher.Run(t.Context(), "drift", "-n", ns)
		return status == 1 && strings.Count(stdout, "deployment/app") == 2
	})
	if status, stdout, stderr := c.usher.Run(t.Context(), "drift", "-n", ns, "--restart"); status != 0 {
		t.Fatalf("usher drift --restart: exit status %d\n%s%s", status, stdout, stderr)
	}
	c.rolledOut(t, ns, "app")
	if status, stdout, stderr := c.usher.Run(t.Context(), "drift", "-n", ns); status != 0 {
		t.Errorf("usher drift: exit status %d\n%s%s", status, stdout, stderr)
	}
	second := c.versions(t, ns)
	if len(second) != 1 || second[0] == first[0] {
		t.Errorf("the pods have the versions %v, had %v", second, first)
	}

	after := c.traffic(t, ns)
	if after.Failed > before.Failed {
		t.Errorf("%d requests failed of %d: %q", after.Failed-before.Failed, after.Answered-before.Answered, after.Failures)
	}
	t.Logf("%d requests were answered meanwhile, %d failed", after.Answered-before.Answered, after.Failed-before.Failed)
}

// count returns the result of the pod that generates the traffic.
type count struct {
	Answered, Failed int
	Failures         []string
}

func (c *cluster) traffic(t *testing.T, namespace string) count {
	t.Helper()
	var now count
	c.until(t, "the traffic tells how it goes", func() bool {
		body, err := c.get(t, namespace, "pods/traffic:8081", "/")
		return err == nil && json.Unmarshal([]byte(body), &now) == nil
	})
	return now
}

// versions returns those of the template in the application's pods.
func (c *cluster) versions(t *testing.T, namespace string) []string {
	t.Helper()
	found := map[string]bool{}
	var versions []string
	for _, pod := range c.pods(t, namespace, "app=app") {
		var record map[string]struct{ Version string }
		if err := json.Unmarshal([]byte(pod.Annotations[wellknown.AnnotationInjected]), &record); err != nil {
			t.Fatalf("%s: %v", pod.Name, err)
		}
		if v := record["rolled"].Version; !found[v] {
			found[v] = true
			versions = append(versions, v)
		}
	}
	return versions
}
