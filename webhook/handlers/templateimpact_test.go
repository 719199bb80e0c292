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
	create := func(namespace, name string, replicas int32, pod string) {
		t.Helper()
		d := webhooktest.FromYAML[appsv1.Deployment](t, fmt.Sprintf(`
metadata: {name: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec: {%s}
`, name, replicas, name, name, pod))
		if _, err := c.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(team, "web", 3, "containers: [{name: app, image: app}]")
	create(team, "idle", 0, "containers: [{name: app, image: app}]")
	create(team, "taken", 1, "containers: [{name: side, image: mine}]")
	create(team, "host", 1, "hostNetwork: true, containers: [{name: app, image: app}]")
	create(other, "web", 1, "containers: [{name: app, image: app}]")

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
			if line = strings.TrimSpace(line); strings.Contains(line, "existing workloads") || strings.Contains(line, "will be denied by") || strings.Contains(line, "in addition") {
				told = append(told, line)
			}
		}
		return told
	}
	want := []string{
		"template side: of 4 existing workloads, the next pods of 2 will get it, of 1 will not get it although they ask for it, of 1 will be denied; options.heal will restart 1; run: usher diff --live FILE",
		"template side: will be denied by conflict-container: 1",
		"template side: the pods of all these workloads will request in addition cpu 300m, memory 96Mi",
	}
	c.Until(t, "the namespace is known", func() bool {
		return len(apply("containers: [{name: side, image: 'side:1', resources: {requests: {cpu: 100m}, limits: {memory: 32Mi}}}]")) == len(want)
	})
	if diff := cmp.Diff(want, apply("containers: [{name: side, image: 'side:1', resources: {requests: {cpu: 100m}, limits: {memory: 32Mi}}}]")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
