//go:build e2e

package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/usher-dev/usher/test/cluster/usher"
)

// outage is how long usher is down in TestPodsOfAnOutage_GetTheirSidecarsWithoutHelp.
var outage = flag.Duration("outage", 20*time.Second, "how long usher is down under load")

// TestPodsOfAnOutage_GetTheirSidecarsWithoutHelp removes usher while Deployments roll
// repeatedly, and starts it again. Without human intervention, all pods get
// their sidecars.
func TestPodsOfAnOutage_GetTheirSidecarsWithoutHelp(t *testing.T) {
	c := shared
	c.template(t, strings.NewReplacer("NAME", "healed", "MANDATORY", `false\nheal: true`).Replace(agent))
	ns := c.namespace(t, nil)
	const workloads = 3
	for i := range workloads {
		c.apply(t, ns, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: app-%d}, spec: {replicas: 2, selector: {matchLabels: {app: app-%[1]d}},
template: {metadata: {labels: {app: app-%[1]d}, annotations: {inject.usher.dev/healed: "true"}}, spec: {terminationGracePeriodSeconds: 1,
containers: [{name: app, image: 'node.local/app:e2e', args: [serve, '127.0.0.1:18765']}]}}}}`, i))
	}
	each := func(what func(name string)) {
		for i := range workloads {
			what(fmt.Sprintf("app-%d", i))
		}
	}
	each(func(name string) { c.rolledOut(t, ns, name) })
	c.scale(t, "0")
	t.Cleanup(func() {
		if out, err := c.node.Kubectl(context.Background(), "", "scale", "-n", usher.Namespace, "deployment/usher-webhook", "--replicas=2"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	for until := time.Now().Add(*outage); time.Now().Before(until); {
		each(func(name string) { c.kubectl(t, "rollout", "restart", "-n", ns, "deployment/"+name) })
		each(func(name string) { c.rolledOut(t, ns, name) })
	}
	if bare := c.bare(t, ns); bare != 2*workloads {
		t.Fatalf("%d pods without a sidecar, want %d: usher was not down", bare, 2*workloads)
	}

	c.scale(t, "2")
	c.until(t, "every pod has its sidecar", func() bool { return c.bare(t, ns) == 0 })
	each(func(name string) { c.rolledOut(t, ns, name) })
	if bare := c.bare(t, ns); bare > 0 {
		t.Errorf("%d pods without a sidecar are left", bare)
	}
	if t.Failed() {
		c.node.Dump(context.Background(), t.Output(), usher.Namespace)
	}
}

// bare counts the pods of a namespace without the agent.
func (c *cluster) bare(t *testing.T, namespace string) int {
	t.Helper()
	bare := 0
	for _, p := range c.pods(t, namespace, "") {
		if len(p.Spec.Containers) == 1 {
			bare++
		}
	}
	return bare
}
