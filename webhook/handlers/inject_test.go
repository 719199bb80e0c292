package handlers_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

func seed[T any](t *testing.T, path string) *T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return webhooktest.FromYAML[T](t, string(data))
}

func TestSeedPodIsInjected(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	cm := seed[corev1.ConfigMap](t, "../../deploy/templates/envoy.yaml")
	c.Template(t, "envoy", cm.Data["config"], "")

	got, err := c.CoreV1().Pods(ns).Create(t.Context(), seed[corev1.Pod](t, "../../injector/testdata/myapp-pod.yaml"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if webhooktest.Containers(got) != "myapp-container envoy" {
		t.Errorf("containers %s", webhooktest.Containers(got))
	}
	envoy := got.Spec.Containers[1]
	if envoy.Image != "lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1" || envoy.VolumeMounts[0].MountPath != "/etc/envoy" {
		t.Errorf("envoy is %+v", envoy)
	}
	var record injector.Record
	if err := json.Unmarshal([]byte(got.Annotations[wellknown.AnnotationInjected]), &record); err != nil {
		t.Fatal(err)
	}
	if r := record["envoy"]; !strings.HasPrefix(r.Version(), "sha256:") || r.Containers[0] != "envoy" || r.Volumes[0] != "envoy-conf" {
		t.Errorf("record %+v", r)
	}
}

func TestAsked(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	plain, labelled := c.NewNamespace(t, nil), c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "side"})
	tests := map[string]struct {
		namespace, annotations string
		injected               bool
		denied                 string
	}{
		"nobody":                            {namespace: plain},
		"the annotation":                    {namespace: plain, annotations: webhooktest.Asks, injected: true},
		"the Initializer's annotation":      {namespace: plain, annotations: `"initializer.kubernetes.io/side": "true"`, injected: true},
		"the namespace":                     {namespace: labelled, injected: true},
		"the namespace next to annotations": {namespace: labelled, annotations: `"other.io/x": "true"`, injected: true},
		"the annotation's refusal before the namespace": {namespace: labelled, annotations: `"inject.usher.dev/side": "false"`},
		"the namespace next to a refusal of another":    {namespace: labelled, annotations: `"inject.usher.dev/other": "false"`, injected: true},
		"a value that is not a boolean":                 {namespace: plain, annotations: `"inject.usher.dev/side": "True"`, denied: `bad-value: metadata.annotations[inject.usher.dev/side]: is "True"; write "true" or "false"`},
		"a template that does not exist":                {namespace: plain, annotations: `"inject.usher.dev/none": "true"`, denied: `template-missing`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := c.CoreV1().Pods(tc.namespace).Create(t.Context(), webhooktest.Pod(t, tc.annotations, ""), metav1.CreateOptions{})
			if tc.denied != "" {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied) {
					t.Errorf("got %v, want a denial with %q", err, tc.denied)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if injected := strings.Contains(webhooktest.Containers(got), "side"); injected != tc.injected {
				t.Errorf("injected %v, want %v", injected, tc.injected)
			}
		})
	}
}

func TestNamespaceLabelTakesEffectAtOnce(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	for range 5 {
		// The test does not wait in between: the informer may not have seen the label.
		ns := c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "side"})
		got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, "", ""), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if webhooktest.Containers(got) != "app side" {
			t.Errorf("containers %s", webhooktest.Containers(got))
		}
	}
}

func TestSystemNamespacesAreNeverSent(t *testing.T) {
	c := webhooktest.Started(t)
	for _, ns := range []string{"kube-system", "kube-public", controlplane.Namespace} {
		if err := c.Plane.Account(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		// A missing template would deny it.
		if _, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/none": "true"`, ""), metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", ns, err)
		}
	}
}

func TestTemplateChangesReachTheNextPod(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	cm := c.Template(t, "side", webhooktest.Small, "")
	create := func() *corev1.Pod {
		t.Helper()
		got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, ""), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if image := create().Spec.Containers[1].Image; image != "side:1" {
		t.Errorf("image %s", image)
	}

	cm.Data["config"] = "containers: [{name: side, image: 'side:2'}]"
	cm = update(t, c, cm)
	c.Until(t, "pods get the new template", func() bool { return create().Spec.Containers[1].Image == "side:2" })

	cm.Data["config"] = "containers: [{name: side, imagee: 'side:3'}]"
	cm = c.Unguarded(t, cm)
	c.Until(t, "the broken template is told", func() bool {
		return strings.Contains(c.Readyz(t), "keeps serving: template \"side\": data.config.containers[0].imagee (line 1): is not a field of this object")
	})
	if image := create().Spec.Containers[1].Image; image != "side:2" {
		t.Errorf("the last good version does not serve, image %s", image)
	}
	if _, body := webhooktest.Get(t, "http://"+c.Health()+"/readyz"); body != "ok\n" {
		t.Errorf("a broken template changed readiness: %s", body)
	}

	if err := c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(t.Context(), cm.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "pods that ask are denied", func() bool {
		_, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, ""), metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "template-missing")
	})
	cm.ResourceVersion, cm.Data["config"] = "", webhooktest.Small
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// This needs no wait either: usher reads what its cache lacks.
	if image := create().Spec.Containers[1].Image; image != "side:1" {
		t.Errorf("image %s", image)
	}
}

func update(t *testing.T, c *webhooktest.Cluster, cm *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	cm, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Update(t.Context(), cm, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

func TestDryRunIsAnsweredAndStoresNothing(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Template(t, "side", webhooktest.Small, "")
	got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	if webhooktest.Containers(got) != "app side" {
		t.Errorf("containers %s", webhooktest.Containers(got))
	}
	list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("%d pods stored, %v", len(list.Items), err)
	}
}

func TestSecondPassChangesNothing(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	cm := seed[corev1.ConfigMap](t, "../../deploy/templates/envoy.yaml")
	c.Template(t, "envoy", cm.Data["config"], "")
	first, err := c.CoreV1().Pods(ns).Create(t.Context(), seed[corev1.Pod](t, "../../injector/testdata/myapp-pod.yaml"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again := first.DeepCopy()
	again.ObjectMeta = metav1.ObjectMeta{Name: "again", Annotations: first.Annotations, Labels: first.Labels}
	second, err := c.CoreV1().Pods(ns).Create(t.Context(), again, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if webhooktest.Containers(second) != webhooktest.Containers(first) || second.Annotations[wellknown.AnnotationInjected] != first.Annotations[wellknown.AnnotationInjected] {
		t.Errorf("the second pass made %s of %s", webhooktest.Containers(second), webhooktest.Containers(first))
	}
}

func TestJobsGetNativeSidecars(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Template(t, "side", webhooktest.Small, "")
	got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, "restartPolicy: Never, initContainers: [{name: setup, image: i}], containers: [{name: app, image: app}]"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Before(t, 32) {
		// The oldest kubelet decides there, and this cluster has none.
		if webhooktest.Containers(got) != "init:setup app" {
			t.Errorf("containers %s", webhooktest.Containers(got))
		}
		return
	}
	if webhooktest.Containers(got) != "init:side init:setup app" {
		t.Errorf("containers %s", webhooktest.Containers(got))
	}
	if p := got.Spec.InitContainers[0].RestartPolicy; p == nil || *p != corev1.ContainerRestartPolicyAlways {
		t.Errorf("restartPolicy %v", p)
	}
}

func TestWarningsReachTheClient(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Template(t, "side", webhooktest.Small, "")
	c.Warnings.Take()
	got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, "hostNetwork: true, containers: [{name: app, image: app}]"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text := c.Warnings.Take(); webhooktest.Containers(got) != "app" || !strings.Contains(text, "was not injected (host-network)") {
		t.Errorf("containers %s, warnings %q", webhooktest.Containers(got), text)
	}
}

func TestDenialNamesTheFields(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Template(t, "side", webhooktest.Small, "")
	_, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, "containers: [{name: side, image: mine}]"), metav1.CreateOptions{})
	status := apierrors.APIStatus(nil)
	if s, ok := err.(apierrors.APIStatus); ok {
		status = s
	} else {
		t.Fatalf("got %v, want a status", err)
	}
	details := status.Status().Details
	if details == nil || len(details.Causes) != 1 || details.Causes[0].Field != "spec.containers[0].name" || string(details.Causes[0].Type) != "conflict-container" {
		t.Errorf("causes %+v", details)
	}
}

func TestDeploymentsCarryTheirOptIn(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Template(t, "side", webhooktest.Small, "")
	c.Warnings.Take()
	d := webhooktest.Deployment(t, `"initializer.kubernetes.io/side": "true"`)
	d, err := c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Spec.Template.Annotations["initializer.kubernetes.io/side"]; got != "true" {
		t.Errorf("the template's annotation is %q", got)
	}
	if text := c.Warnings.Take(); !strings.Contains(text, "copied to spec.template.metadata.annotations") {
		t.Errorf("warnings %q", text)
	}
	d, err = c.AppsV1().Deployments(ns).Patch(t.Context(), d.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"initializer.kubernetes.io/side":null}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Spec.Template.Annotations) != 0 {
		t.Errorf("the source is gone and left %v", d.Spec.Template.Annotations)
	}
}

func TestFailureShowsOnTheWorkload(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Template(t, "side", "containers: [{name: app, image: i}]", "")
	c.Template(t, "must", "containers: [{name: app, image: i}]", "mandatory: true")
	c.Warnings.Take()
	if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), webhooktest.Deployment(t, webhooktest.Asks), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := c.Warnings.Take(); !strings.Contains(text, "its pods will be denied: conflict-container: spec.template.spec.containers[0].name") {
		t.Errorf("warnings %q", text)
	}
	_, err := c.AppsV1().Deployments(ns).Create(t.Context(), webhooktest.Deployment(t, `"inject.usher.dev/must": "true"`), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "its pods will be denied: conflict-container") {
		t.Errorf("got %v, want a denial", err)
	}
}

func TestAbsenceWarning_MissingObject_IsWarnedOf(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "side"})
	c.Template(t, "side", webhooktest.Small+"\nvolumes: [{name: v, configMap: {name: envoy}}]", "")
	c.Warnings.Take()
	if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), webhooktest.Deployment(t, ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := c.Warnings.Take(); !strings.Contains(text, `ConfigMap "envoy", which template side needs, is not in namespace `+ns) {
		t.Errorf("warnings %q", text)
	}
}
