package main

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// TestDrift_NotRegistered_IsNotClean asks about an installation that the API
// server does not call: without it, no pod drifts, and no pod gets a sidecar.
func TestDrift_NotRegistered_IsNotClean(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	const other = "Error: usher is not registered by an installation in namespace elsewhere: the cluster has one in usher-system; pass --usher-namespace\n"
	for _, args := range [][]string{{"-A"}, {"-n", ns}, {"-A", "-o", "json"}, {"-A", "-w"}, {"-A", "--restart"}} {
		status, stdout, stderr := c.usher(t, append([]string{"drift", "--usher-namespace", "elsewhere"}, args...)...)
		if status != cli.Usage || stdout != "" || stderr != other {
			t.Errorf("%v: status %d: %s%s", args, status, stdout, stderr)
		}
	}
	if status, stdout, stderr := c.usher(t, "drift", "-n", ns); status != cli.Clean || stderr != "" {
		t.Errorf("of the registered one: status %d: %s%s", status, stdout, stderr)
	}
}

// TestDrift_RegistrationUnreadable_IsSaid asks with the rights of a user who may
// read pods and templates, but not what is registered.
func TestDrift_RegistrationUnreadable_IsSaid(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	tenant := c.tenant(t, ns, "view")
	c.kubectl(t, "create", "rolebinding", "-n", "usher-system", ns, "--clusterrole=view", "--serviceaccount="+ns+":view")
	var status int
	var stdout, stderr string
	c.until(t, "the user may read the templates", func() bool {
		status, stdout, stderr = usher(t, "", "drift", "-n", ns, "--kubeconfig", tenant)
		return !strings.Contains(stderr, "may not read the templates")
	})
	const want = "whether usher is registered is unknown: the right to list mutatingwebhookconfigurations is missing; usher assumes that it is\n"
	if status != cli.Clean || stdout != "All pods have the current sidecars.\n" || stderr != want {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}
