package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestATemplateThatSelectsTellsWhatItWillDo applies one that the next pods of some
// workloads get, and that others cannot get.
func TestATemplateThatSelectsTellsWhatItWillDo(t *testing.T) {
	c := webhooktest.Started(t)
	team := c.NewNamespace(t, map[string]string{"team": "impact"})
	other := c.NewNamespace(t, nil)
	create := func(namespace, name string, replicas int32, annotations, pod string) {
		t.Helper()
		d := webhooktest.FromYAML[appsv1.Deployment](t, fmt.Sprintf(`
metadata: {name: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}, annotations: {%s}}
    spec: {%s}
`, name, replicas, name, name, annotations, pod))
		if _, err := c.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(team, "web", 3, "", "containers: [{name: app, image: app}]")
	create(team, "idle", 0, "", "containers: [{name: app, image: app}]")
	create(team, "taken", 1, "", "containers: [{name: side, image: mine}]")
	create(team, "asks", 1, `inject.usher.dev/side: "true"`, "containers: [{name: side, image: mine}]")
	create(team, "own", 1, "note: mine", "containers: [{name: app, image: app}]")
	create(team, "host", 1, "", "hostNetwork: true, containers: [{name: app, image: app}]")
	create(other, "web", 1, "", "containers: [{name: app, image: app}]")

	const config = "annotations: {note: side}\ncontainers: [{name: side, image: 'side:1', resources: {requests: {cpu: 100m}, limits: {memory: 32Mi}}}]"
	const options = "match: {namespaceSelector: {matchLabels: {team: impact}}}\nheal: true"
	apply := func(config string) []string {
		t.Helper()
		c.Warnings.Take()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": config, "options": options}}
		if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Fatal(err)
		}
		var told []string
		for line := range strings.Lines(c.Warnings.Take()) {
			if line = strings.TrimSpace(line); strings.Contains(line, "existing workloads") || strings.Contains(line, "will be denied by") || strings.Contains(line, "will not get it for") || strings.Contains(line, "in addition") {
				told = append(told, line)
			}
		}
		return told
	}
	want := []string{
		"template side: of 6 existing workloads, the next pods of 3 will get it, of 2 will not get it, of 1 will be denied; those of 1 keep values of their own; options.heal will restart 2; run: usher diff --live FILE",
		"template side: will not get it for host-network: 1, match-skipped: 1",
		"template side: will be denied by conflict-container: 1",
		"template side: the pods of all these workloads will request in addition cpu 400m, memory 128Mi",
	}
	c.Until(t, "the namespace is known", func() bool {
		return len(apply(config)) == len(want)
	})
	if diff := cmp.Diff(want, apply(config)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
