package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// parameterized takes values from the pod's containers, its annotation and its
// namespace.
const parameterized = `
containers:
- name: NAME
  image: NAME:1
  args: ["--ports=${param.ports}", "--names=${param.names}", "--probes=${param.probes}", "--level=${param.level}", "--zone=${param.zone}"]
labels: {NAME.example.com/level: "${param.level}"}
annotations: {NAME.example.com/zone: "${param.zone}"}`

const parameterizedOptions = `
parameters:
- {name: ports, type: ports, from: [{fact: containerPorts}]}
- {name: probes, type: ports, from: [{fact: probePorts}]}
- {name: names, from: [{fact: containerNames}]}
- {name: level, pattern: "[a-z]{1,9}", default: info, overridable: true, from: [{annotation: example.com/level}]}
- {name: zone, maxLength: 9, default: none, from: [{namespaceAnnotation: example.com/zone}]}
`

// parameterizedTemplates creates one template that is not mandatory and one that is,
// and waits until usher knows them.
func parameterizedTemplates(t *testing.T, c *webhooktest.Cluster) (soft, hard *corev1.ConfigMap) {
	t.Helper()
	soft = c.Template(t, "soft", strings.ReplaceAll(parameterized, "NAME", "soft"), parameterizedOptions)
	hard = c.Template(t, "hard", strings.ReplaceAll(parameterized, "NAME", "hard"), "mandatory: true"+parameterizedOptions)
	c.Until(t, "the mandatory template is registered", func() bool {
		text, _ := c.Rendered(t)
		return strings.Contains(text, "updated-pods.mandatory.usher.dev") && strings.Contains(text, `inject.usher.dev/hard`)
	})
	return soft, hard
}

// zone sets the annotation of a namespace from which the templates take a value.
func zone(t *testing.T, c *webhooktest.Cluster, namespace, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/zone":%q}}}`, value)
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "usher knows the annotation of the namespace", func() bool {
		got, err := c.CoreV1().Pods(namespace).Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/soft": "true"`, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && got.Annotations["soft.example.com/zone"] == value
	})
}

const withPorts = `containers: [{name: app, image: app, ports: [{containerPort: 8080}], livenessProbe: {tcpSocket: {port: 8081}}}]`

// exported is a pod as a backup stores it, under its name.
func exported(p *corev1.Pod) *corev1.Pod {
	kept := backup(p)
	kept.Name, kept.GenerateName = p.Name, ""
	kept.Spec.NodeName = ""
	return kept
}

// values are what the template gave the pod.
func values(t *testing.T, p *corev1.Pod, template string) []string {
	t.Helper()
	s := of(p, template)
	if s == nil {
		t.Fatalf("the pod has no container %s: %s", template, webhooktest.Containers(p))
	}
	return append(s.Args, p.Labels[template+".example.com/level"], p.Annotations[template+".example.com/zone"], p.Annotations[wellknown.AnnotationInjected])
}

// TestParametersBesideAWebhookThatAddsAContainer makes another webhook add a
// container with a port and a probe, before usher and after it.
func TestParametersBesideAWebhookThatAddsAContainer(t *testing.T) {
	c := webhooktest.Started(t)
	s := &second{}
	s.register(t, c)
	parameterizedTemplates(t, c)
	add := func(p *corev1.Pod) {
		if of(p, "another") == nil {
			p.Spec.Containers = append(p.Spec.Containers, webhooktest.Pod(t, "", `containers: [{name: another, image: another, ports: [{containerPort: 7070}], livenessProbe: {tcpSocket: {port: 7071}}}]`).Spec.Containers...)
		}
	}
	// A webhook that is called after usher does not change what usher has added.
	want := map[string][]string{
		"before": {"--ports=8080,7070", "--names=app,another", "--probes=7071,8081", "--level=info", "--zone=none"},
		"after":  {"--ports=8080", "--names=app", "--probes=8081", "--level=info", "--zone=none"},
	}
	for order := range orders {
		ns := c.NewNamespace(t, map[string]string{"second": order})
		s.until(t, c, ns)
		s.edit.Store(&add)
		pods := c.CoreV1().Pods(ns)
		for _, template := range []string{"soft", "hard"} {
			t.Run(order+"/"+template, func(t *testing.T) {
				sent := webhooktest.Pod(t, `"inject.usher.dev/`+template+`": "true"`, withPorts)
				sent.Name, sent.GenerateName = "pod-"+template, ""
				got, err := pods.Create(t.Context(), sent, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if of(got, "another") == nil {
					t.Fatalf("the other webhook was not called: %s", webhooktest.Containers(got))
				}
				if diff := cmp.Diff(want[order], of(got, template).Args); diff != "" {
					t.Errorf("arguments (-want +got):\n%s", diff)
				}
				if err := pods.Delete(t.Context(), got.Name, *metav1.NewDeleteOptions(0)); err != nil {
					t.Fatal(err)
				}
				again, err := pods.Create(t.Context(), exported(got), metav1.CreateOptions{})
				if err != nil {
					t.Fatalf("restored: %v", err)
				}
				if diff := cmp.Diff(got.Spec.Containers, again.Spec.Containers); diff != "" {
					t.Errorf("containers of the restored pod (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(values(t, got, template), values(t, again, template)); diff != "" {
					t.Errorf("values of the restored pod (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestRestoredPodsKeepTheirValues creates pods again after their sources, and the
// templates, have changed.
func TestRestoredPodsKeepTheirValues(t *testing.T) {
	whole, c := t, webhooktest.Started(t)
	soft, hard := parameterizedTemplates(t, c)
	ns := c.NewNamespace(t, nil)
	zone(t, c, ns, "a")
	pods := c.CoreV1().Pods(ns)
	created := map[string]*corev1.Pod{}
	for _, template := range []string{"soft", "hard"} {
		pod := webhooktest.Pod(t, `"inject.usher.dev/`+template+`": "true", "example.com/level": debug`, withPorts)
		pod.Name, pod.GenerateName = "pod-"+template, ""
		got, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		created[template] = got
	}
	// restore replaces the pod; "" if it gets the same as before, else the reason of
	// the denial.
	restore := func(t *testing.T, template, denied string) {
		t.Helper()
		if err := pods.Delete(t.Context(), created[template].Name, *metav1.NewDeleteOptions(0)); err != nil && denied == "" {
			t.Fatal(err)
		}
		again, err := pods.Create(t.Context(), exported(created[template]), metav1.CreateOptions{})
		switch {
		case denied != "" && (err == nil || !strings.Contains(err.Error(), denied)):
			t.Errorf("%v, want a denial for %s", err, denied)
		case denied != "":
		case err != nil:
			t.Error(err)
		default:
			if diff := cmp.Diff(values(t, created[template], template), values(t, again, template)); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(created[template].Spec.Containers, again.Spec.Containers); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		}
	}
	// edit changes a text of a template, and waits until new pods get the change.
	edit := func(t *testing.T, template *corev1.ConfigMap, key, old, now string, known func(*corev1.Pod) bool) {
		t.Helper()
		name := strings.TrimSuffix(template.Name, "-initializer")
		template.Data[key] = strings.ReplaceAll(template.Data[key], old, now)
		text, err := json.Marshal(map[string]any{"data": template.Data})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Patch(t.Context(), template.Name, types.MergePatchType, text, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Until(t, "the edit is known", func() bool {
			got, err := pods.Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/`+name+`": "true"`, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err == nil && known(got)
		})
	}
	t.Run("as they were", func(t *testing.T) {
		restore(t, "soft", "")
		restore(t, "hard", "")
	})
	t.Run("with another annotation", func(t *testing.T) {
		for _, pod := range created {
			pod.Annotations["example.com/level"] = "trace"
		}
		restore(t, "soft", "")
		restore(t, "hard", "")
	})
	t.Run("with another default", func(t *testing.T) {
		for _, template := range []*corev1.ConfigMap{soft, hard} {
			edit(t, template, "options", "default: info", "default: warn", func(p *corev1.Pod) bool {
				return p.Labels[strings.TrimSuffix(template.Name, "-initializer")+".example.com/level"] == "warn"
			})
		}
		restore(t, "soft", "")
		restore(t, "hard", "")
	})
	t.Run("with another image", func(t *testing.T) {
		edit(t, soft, "config", ":1", ":2", func(p *corev1.Pod) bool { return p.Spec.Containers[1].Image == "soft:2" })
		restore(t, "soft", "")
	})
	t.Run("in a namespace that has another revision", func(t *testing.T) {
		next := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "soft-next", Labels: map[string]string{wellknown.LabelRevisionOf: "soft", wellknown.LabelRevision: "next"}},
			Data:       map[string]string{"config": strings.ReplaceAll(soft.Data["config"], ":2", ":3"), "options": soft.Data["options"]},
		}
		configMaps := c.CoreV1().ConfigMaps(controlplane.Namespace)
		if _, err := configMaps.Create(t.Context(), next, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		whole.Cleanup(func() { _ = configMaps.Delete(context.Background(), next.Name, metav1.DeleteOptions{}) })
		label := fmt.Sprintf(`{"metadata":{"labels":{%q:"soft.next"}}}`, wellknown.LabelRevisions)
		if _, err := c.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(label), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Until(t, "new pods get the revision", func() bool {
			got, err := pods.Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/soft": "true"`, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err == nil && got.Spec.Containers[1].Image == "soft:3"
		})
		restore(t, "soft", "")
	})
	t.Run("with another zone of the namespace", func(t *testing.T) {
		zone(t, c, ns, "b")
		restore(t, "soft", "")
		restore(t, "hard", "mandatory-changed") // the value is not the pod's to decide
	})
}
