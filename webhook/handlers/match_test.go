package handlers_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestOnlyWhatMatchesIsSent lets the API server evaluate the entries for
// options.match.
func TestOnlyWhatMatchesIsSent(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, `match: {namespaceSelector: {matchLabels: {team: a}}, podSelector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: NotIn, values: [db]}]}, kinds: [Pod, StatefulSet, Deployment, Job]}`)
	c.Until(t, "it is registered", func() bool {
		return c.Policies(t)["matched-pods"] == "Ignore" && c.Policies(t)["matched-workloads"] == "Ignore"
	})
	yes, no := c.NewNamespace(t, map[string]string{"team": "a"}), c.NewNamespace(t, map[string]string{"team": "b"})
	owned := func(kind string) string {
		return ", ownerReferences: [{apiVersion: apps/v1, kind: " + kind + ", name: o, uid: u, controller: true}]"
	}
	const web = "labels: {app: web}"
	tests := map[string]struct {
		namespace, metadata string
		want                string
		sent                float64
	}{
		"what matches":                     {yes, web, "app side", 1},
		"another namespace":                {no, web, "app", 0},
		"another label":                    {yes, "labels: {app: api}", "app", 0},
		"no label":                         {yes, "", "app", 0},
		"a label that is left out":         {yes, "labels: {app: web, tier: db}", "app", 0},
		"of a StatefulSet":                 {yes, web + owned("StatefulSet"), "app side", 1},
		"of a DaemonSet":                   {yes, web + owned("DaemonSet"), "app", 0},
		"of a Deployment":                  {yes, "labels: {app: web, pod-template-hash: x}" + owned("ReplicaSet"), "app side", 1},
		"of a ReplicaSet of its own":       {yes, web + owned("ReplicaSet"), "app", 0},
		"of a Job":                         {yes, web + owned("Job"), "app side", 1},
		"an explicit false":                {yes, web + `, annotations: {inject.usher.dev/side: "false"}`, "app", 1},
		"one that asks by annotation, too": {yes, web + `, annotations: {inject.usher.dev/side: "true"}`, "app side", 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := c.Decisions(t, "/mutate")
			p := webhooktest.FromYAML[corev1.Pod](t, "{metadata: {generateName: p-, "+strings.TrimSuffix(tc.metadata, ", ")+"}, spec: {containers: [{name: app, image: app}]}}")
			got, err := c.CoreV1().Pods(tc.namespace).Create(t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				t.Fatal(err)
			}
			if sent := c.Decisions(t, "/mutate") - before; webhooktest.Containers(got) != tc.want || sent != tc.sent {
				t.Errorf("containers %q, sent %v times; want %q, %v times", webhooktest.Containers(got), sent, tc.want, tc.sent)
			}
		})
	}
	for name, tc := range map[string]struct {
		namespace, labels string
		sent              float64
	}{
		"a Deployment that matches":     {yes, "{app: web}", 1},
		"a Deployment of another label": {yes, "{app: api}", 0},
		"a Deployment elsewhere":        {no, "{app: web}", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.Decisions(t, "/mutate-workloads")
			d := webhooktest.Deployment(t, "")
			d.Spec.Template.Labels = fromYAMLMap(t, tc.labels)
			d.Spec.Selector.MatchLabels = d.Spec.Template.Labels
			if _, err := c.AppsV1().Deployments(tc.namespace).Create(t.Context(), d, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Fatal(err)
			}
			if sent := c.Decisions(t, "/mutate-workloads") - before; sent != tc.sent {
				t.Errorf("sent %v times, want %v", sent, tc.sent)
			}
		})
	}
}

// TestAMandatoryMatchFailsClosed checks that a mandatory match has an entry
// apart from those that may fail open.
func TestAMandatoryMatchFailsClosed(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "mandatory: true\noptOut: allow\nmatch: {podSelector: {matchLabels: {app: web}}}")
	c.Until(t, "it is registered", func() bool { return c.Policies(t)["mandatory-matched-pods"] == "Fail" })
	ns := c.NewNamespace(t, nil)
	for name, tc := range map[string]struct {
		annotations string
		want        string
	}{
		"that asks for nothing":       {"", "app side"},
		"that speaks of another":      {`inject.usher.dev/other: "false"`, "app side"},
		"that refuses it":             {`inject.usher.dev/side: "false"`, "app"},
		"that refuses it in old form": {`initializer.kubernetes.io/side: "false"`, "app"},
	} {
		t.Run(name, func(t *testing.T) {
			p := webhooktest.Pod(t, tc.annotations, "")
			p.Labels = map[string]string{"app": "web"}
			got, err := c.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil || webhooktest.Containers(got) != tc.want {
				t.Errorf("containers %q, %v; want %q", webhooktest.Containers(got), err, tc.want)
			}
		})
	}
}

func fromYAMLMap(t *testing.T, text string) map[string]string {
	t.Helper()
	return *webhooktest.FromYAML[map[string]string](t, text)
}
