//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThePodsOfTheSeedRunWithTheirProxy applies the seed's template unchanged.
// Its image contains Caddy, a real proxy that is a Go program, with Envoy's
// name.
func TestThePodsOfTheSeedRunWithTheirProxy(t *testing.T) {
	t.Parallel()
	c := shared
	c.template(t, deployed(t, "envoy.yaml"))
	ns := c.namespace(t, nil)
	c.apply(t, ns, fixture(t, "seed.yaml"))
	c.rolledOut(t, ns, "app")
	pods := c.pods(t, ns, "app=app")
	if len(pods) != 2 {
		t.Fatalf("%d pods, want 2", len(pods))
	}
	for i := range pods {
		if diff := cmp.Diff([]string{"app", "envoy"}, names(pods[i].Spec.Containers)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pods[i].Name, diff)
		}
		// The application listens only on its loopback address.
		path := "/to-" + pods[i].Name
		c.reaches(t, ns, "pods/"+pods[i].Name+":80", path)
		c.logged(t, ns, pods[i].Name, "envoy", path)
	}
	c.reaches(t, ns, "services/app:80", "/to-the-service")
}

// TestTheInitContainerHandsTheProxyTheTrafficOfItsPod requests the
// application's own port, which `usher redirect` redirects to the proxy.
func TestTheInitContainerHandsTheProxyTheTrafficOfItsPod(t *testing.T) {
	t.Parallel()
	c := shared
	c.template(t, takeover(t, "handed"))
	ns := c.namespace(t, nil)
	c.apply(t, ns, edited(t, fixture(t, "takeover.yaml"), "TEMPLATE", "handed"))
	c.rolledOut(t, ns, "app")
	pods := c.pods(t, ns, "app=app")
	if len(pods) != 1 {
		t.Fatalf("%d pods, want 1", len(pods))
	}
	pod := pods[0]
	if diff := cmp.Diff([]string{"envoy", "envoy-redirect"}, names(pod.Spec.InitContainers)); diff != "" {
		t.Errorf("init containers (-want +got):\n%s", diff)
	}
	c.reaches(t, ns, "pods/"+pod.Name+":8080", "/to-the-application")
	c.logged(t, ns, pod.Name, "envoy", "/to-the-application")
	c.logged(t, ns, pod.Name, "envoy-redirect", "table inet usher")
	// The kubelet's probe of the application does not depend on the proxy, which has
	// no configuration for its port.
	c.logged(t, ns, pod.Name, "envoy-redirect", "8081")
	c.logged(t, ns, pod.Name, "app", "/readiness")
}

// TestTheShipperGetsTheLinesOfTheApplication deploys the shipped logs.yaml and
// an application that mounts nothing. The shipper's image contains a small
// program that prints the lines of files, with fluent-bit's name.
func TestTheShipperGetsTheLinesOfTheApplication(t *testing.T) {
	t.Parallel()
	c := shared
	c.template(t, deployed(t, "logs.yaml"))
	ns := c.namespace(t, nil)
	c.apply(t, ns, fixture(t, "logs.yaml"))
	c.rolledOut(t, ns, "app")
	pods := c.pods(t, ns, "app=app")
	if len(pods) != 1 {
		t.Fatalf("%d pods, want 1", len(pods))
	}
	if diff := cmp.Diff([]string{"app", "logs"}, names(pods[0].Spec.Containers)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	c.logged(t, ns, pods[0].Name, "logs", "line 3 of the application")
}

// reaches requests a path until the application answers through the proxy.
func (c *cluster) reaches(t *testing.T, namespace, resource, path string) {
	t.Helper()
	var body string
	var err error
	c.until(t, resource+" answers", func() bool {
		body, err = c.get(t, namespace, resource, path)
		return err == nil
	})
	if !strings.Contains(body, "asked for "+path) || !strings.Contains(body, "Caddy") {
		t.Errorf("the answer is not the application's through the proxy: %s", body)
	}
}
