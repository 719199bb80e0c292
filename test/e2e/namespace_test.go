//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
)

// agent is a template whose container only runs.
const agent = `
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-initializer}
data:
  options: "mandatory: MANDATORY"
  config: |
    containers:
    - {name: agent, image: node.local/app:e2e, args: [serve, ":9901"]}
`

// agentTemplate applies it with a name.
func (c *cluster) agentTemplate(t *testing.T, name, mandatory string) {
	t.Helper()
	c.template(t, strings.NewReplacer("NAME", name, "MANDATORY", mandatory).Replace(agent))
}

// pod returns one that runs, with an annotation and fields of its spec. Its
// port is also free on the node.
func pod(name, annotations, spec string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, annotations: {` + annotations + `}}, spec: {` + spec + `
containers: [{name: app, image: 'node.local/app:e2e', args: [serve, '127.0.0.1:18765']}]}}`
}

// TestANamespaceAsksForItsPodsAndEachMayDecline runs pods in a labelled
// namespace.
func TestANamespaceAsksForItsPodsAndEachMayDecline(t *testing.T) {
	t.Parallel()
	c := shared
	c.agentTemplate(t, "labelled", "false")
	ns := c.namespace(t, map[string]string{wellknown.LabelTemplates: "labelled"})
	c.until(t, "the namespace's label is known", func() bool {
		out, err := c.node.Kubectl(t.Context(), "---\n"+pod("asks", "", ""), "create", "-n", ns, "-f", "-", "--dry-run=server", "-o", "yaml")
		return err == nil && strings.Contains(out, "name: agent")
	})
	for _, tt := range []struct {
		name, annotations, spec string
		want                    []string
		why                     string // expected output of usher explain for the pod
	}{
		{"plain", ``, ``, []string{"app", "agent"}, "injected"},
		{"declines", `initializer.kubernetes.io/labelled: "false"`, ``, []string{"app"}, "opted-out"},
		{"host-network", ``, `hostNetwork: true,`, []string{"app"}, "host-network"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.apply(t, ns, pod(tt.name, tt.annotations, tt.spec))
			c.kubectl(t, "wait", "-n", ns, "--for=condition=Ready", "pod/"+tt.name, "--timeout=120s")
			if diff := cmp.Diff(tt.want, c.containers(t, ns, tt.name)); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if _, stdout, stderr := c.usher.Run(t.Context(), "explain", "pod", tt.name, "-n", ns); !strings.Contains(stdout, tt.why) {
				t.Errorf("usher explain does not say %s:\n%s%s", tt.why, stdout, stderr)
			}
		})
	}
	t.Run("outside of the namespace nothing is added", func(t *testing.T) {
		other := c.namespace(t, nil)
		c.apply(t, other, pod("plain", "", ""))
		c.kubectl(t, "wait", "-n", other, "--for=condition=Ready", "pod/plain", "--timeout=120s")
		if diff := cmp.Diff([]string{"app"}, c.containers(t, other, "plain")); diff != "" {
			t.Errorf("containers (-want +got):\n%s", diff)
		}
	})
}

// TestAPodThatCannotHaveAMandatoryTemplateIsRefused uses the host network, on
// which a template is skipped unless it is mandatory.
func TestAPodThatCannotHaveAMandatoryTemplateIsRefused(t *testing.T) {
	t.Parallel()
	c := shared
	c.agentTemplate(t, "must", "true")
	ns := c.namespace(t, nil)
	const asks = `inject.usher.dev/must: "true"`
	c.apply(t, ns, pod("can", asks, ""))
	c.kubectl(t, "wait", "-n", ns, "--for=condition=Ready", "pod/can", "--timeout=120s")
	if diff := cmp.Diff([]string{"app", "agent"}, c.containers(t, ns, "can")); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	out, err := c.tryApply(t, ns, pod("cannot", asks, "hostNetwork: true,"))
	if err == nil || !strings.Contains(out, "denied the request: host-network") {
		t.Errorf("got %v, want a denial: %s", err, out)
	}
}

// containers returns the names of a pod's containers.
func (c *cluster) containers(t *testing.T, namespace, name string) []string {
	t.Helper()
	for _, p := range c.pods(t, namespace, "") {
		if p.Name == name {
			return names(p.Spec.Containers)
		}
	}
	t.Fatalf("pod %s does not exist", name)
	return nil
}
