package healing_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/test/controlplane"
)

// TestTheMetricCountsVerdicts labels a namespace with pods of which only one lacks
// the template: the others would not get it, or have it without a record. The
// metric agrees with usher drift, and afterwards nothing about them is read again.
func TestTheMetricCountsVerdicts(t *testing.T) {
	c := shared
	c.apply(t, controlplane.Namespace, template("{heal: true, native: never}"))
	c.apply(t, controlplane.Namespace, manifest("usher-webhook", "1", ""))
	c.available(t, controlplane.Namespace, "usher-webhook", 1)
	ns := c.namespace(t)
	for name, spec := range map[string]string{
		"plain":   "containers: [{name: app, image: app}]",
		"host":    "hostNetwork: true, containers: [{name: app, image: app}]",
		"windows": "os: {name: windows}, containers: [{name: app, image: app}]",
		"ending":  "restartPolicy: Never, containers: [{name: app, image: app}]",
		"present": "containers: [{name: app, image: app}, {name: side, image: s}]",
	} {
		c.apply(t, ns, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s}}", name, spec))
	}
	if out, err := c.plane.Kubectl(t.Context(), "", "label", "namespace", ns, "inject.usher.dev/templates=side"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	agrees := func() (bool, string) {
		cluster, err := kubeconfig.Connect(t.Context(), c.plane.Config, kubeconfig.Installation{Own: controlplane.Namespace})
		if err != nil {
			t.Fatal(err)
		}
		found, err := drift.Find(t.Context(), cluster, drift.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		lacking, here := 0, ""
		for _, f := range found {
			if f.State == drift.Missing || f.State == drift.Denied {
				lacking++
			}
			if f.Namespace == ns {
				here += f.Pod + " "
			}
		}
		return count(t, "missing") == float64(lacking), here
	}
	for _, here := range []string{"plain ", ""} {
		c.until(t, fmt.Sprintf("the metric counts %q", here), func() bool {
			same, found := agrees()
			return same && found == here
		})
		if here != "" {
			if err := c.CoreV1().Pods(ns).Delete(t.Context(), "plain", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
				t.Fatal(err)
			}
		}
	}

	looks, requests := c.requests(t, ns)
	c.until(t, "the controller has looked again and again", func() bool {
		more, _ := c.requests(t, ns)
		return more >= looks+5
	})
	if _, more := c.requests(t, ns); more != requests {
		t.Errorf("the controller sent %d more requests about the namespace", more-requests)
	}
}

// requests returns how often the controller read the templates, which it does at
// each look, and how many requests it sent about the objects of a namespace.
func (c *cluster) requests(t *testing.T, ns string) (looks, requests int) {
	t.Helper()
	events, err := c.audit.Of(controlplane.ControllerUser)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch {
		case e.ObjectRef.Namespace == ns:
			requests++
		case e.ObjectRef.Resource == "configmaps" && e.Verb == "list":
			looks++
		}
	}
	return looks, requests
}
