package handlers_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// second is another mutating webhook, which the API server calls before usher
// in some namespaces and after it in others, and again if usher changed the
// pod.
type second struct {
	edit atomic.Pointer[func(*corev1.Pod)]
}

// orders are the names of the configurations, by which the API server orders
// them.
var orders = map[string]string{"before": "a-second", "after": "z-second"}

func (s *second) register(t *testing.T, c *webhooktest.Cluster) {
	t.Helper()
	server := httptest.NewTLSServer(&admission.Webhook{Handler: admission.HandlerFunc(s.handle)})
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	none, fail, ifNeeded := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, admissionregistrationv1.IfNeededReinvocationPolicy
	for order, name := range orders {
		configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "pods." + name + ".example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"second": order}},
				SideEffects:       &none, FailurePolicy: &fail, ReinvocationPolicy: &ifNeeded, AdmissionReviewVersions: []string{"v1"},
			}},
		}
		configurations := c.AdmissionregistrationV1().MutatingWebhookConfigurations()
		if _, err := configurations.Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = configurations.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
}

// handle edits pods that already have a sidecar.
func (s *second) handle(_ context.Context, r admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(r.Object.Raw, &pod); err != nil {
		return admission.Errored(400, err)
	}
	if edit := s.edit.Load(); edit != nil {
		(*edit)(&pod)
	}
	after, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(500, err)
	}
	return admission.PatchResponseFromRaw(r.Object.Raw, after)
}

// until makes the API server call the second webhook in a namespace.
func (s *second) until(t *testing.T, c *webhooktest.Cluster, namespace string) {
	t.Helper()
	mark := func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "second", "asked") }
	s.edit.Store(&mark)
	c.Until(t, "the second webhook is asked", func() bool {
		got, err := c.CoreV1().Pods(namespace).Create(t.Context(), webhooktest.Pod(t, "", ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && got.Annotations["second"] == "asked"
	})
}

const besides = `
containers: [{name: NAME, image: 'registry.example.com/team/NAME:1', args: [--run], ports: [{containerPort: PORT}], env: [{name: A, value: a}]}]
annotations: {NAME.example.com/port: "1"}`

func sidecar(p *corev1.Pod) *corev1.Container {
	for i := range p.Spec.Containers {
		if name := p.Spec.Containers[i].Name; name == "soft" || name == "hard" || name == "lenient" {
			return &p.Spec.Containers[i]
		}
	}
	return nil
}

// TestASecondWebhookEditsTheSidecar makes another webhook edit sidecars as
// webhooks in real clusters do. Templates that are not mandatory cope with it;
// a mandatory template allows what it tolerates.
func TestASecondWebhookEditsTheSidecar(t *testing.T) {
	c := webhooktest.Started(t)
	s := &second{}
	s.register(t, c)
	for name, options := range map[string]string{"soft": "", "hard": "mandatory: true", "lenient": "{mandatory: true, tolerate: [image, resources, env, securityContext, volumeMounts, annotations]}"} {
		config := strings.NewReplacer("NAME", name, "PORT", "15001").Replace(besides)
		c.Template(t, name, config, options)
	}
	c.Until(t, "the mandatory templates are registered", func() bool {
		text, _ := c.Rendered(t)
		return strings.Contains(text, "annotated-pods.mandatory.usher.dev") && strings.Contains(text, `inject.usher.dev/lenient`) && strings.Contains(text, `inject.usher.dev/hard`)
	})
	namespaces := map[string]string{}
	for order := range orders {
		namespaces[order] = c.NewNamespace(t, map[string]string{"second": order})
		s.until(t, c, namespaces[order])
	}
	edits := map[string]struct {
		edit func(*corev1.Pod)
		// reason is that of a mandatory template, by the order; "" if it is admitted.
		before, after string
		// untolerable means that no tolerance allows it.
		untolerable bool
	}{
		"nothing": {edit: func(*corev1.Pod) {}},
		"an image pin": {edit: func(p *corev1.Pod) {
			on(p, func(s *corev1.Container) {
				s.Image = "registry.example.com/team/" + s.Name + "@sha256:" + strings.Repeat("1", 64)
			})
		}, before: "mandatory-changed", after: "mandatory-changed"},
		"a registry swap": {edit: func(p *corev1.Pod) {
			on(p, func(s *corev1.Container) { s.Image = "mirror.example.com/" + s.Name + ":1" })
		},
			before: "mandatory-changed", after: "mandatory-changed"},
		"requests": {edit: func(p *corev1.Pod) {
			on(p, func(s *corev1.Container) {
				s.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("250m")}
			})
		}, before: "mandatory-changed", after: "mandatory-changed"},
		"a variable": {edit: func(p *corev1.Pod) {
			on(p, func(s *corev1.Container) {
				if !slices.ContainsFunc(s.Env, func(e corev1.EnvVar) bool { return e.Name == "ROLE" }) {
					s.Env = append([]corev1.EnvVar{{Name: "ROLE", Value: "r"}}, s.Env...)
				}
			})
		}, before: "mandatory-changed", after: "mandatory-changed"},
		"a security context": {edit: func(p *corev1.Pod) {
			on(p, func(s *corev1.Container) { s.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)} })
		}, before: "mandatory-changed", after: "mandatory-changed"},
		"a volume": {edit: func(p *corev1.Pod) {
			on(p, func(s *corev1.Container) {
				if !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "identity" }) {
					p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "identity"})
					s.VolumeMounts = append(s.VolumeMounts, corev1.VolumeMount{Name: "identity", MountPath: "/identity"})
				}
			})
		}, before: "mandatory-changed", after: "mandatory-changed"},
		"an argument": {edit: func(p *corev1.Pod) { on(p, func(s *corev1.Container) { s.Args = []string{"--help"} }) },
			before: "mandatory-changed", after: "mandatory-changed", untolerable: true},
		// Called again, usher rewrites the record, and the webhook that is called
		// after it removes it again.
		"the record removed": {edit: func(p *corev1.Pod) { delete(p.Annotations, wellknown.AnnotationInjected) }, after: "record-mismatch", untolerable: true},
		"the template's annotation removed": {edit: func(p *corev1.Pod) {
			for _, name := range []string{"soft", "hard", "lenient"} {
				delete(p.Annotations, name+".example.com/port")
			}
		}, after: "mandatory-changed", untolerable: true},
		"the container removed": {edit: func(p *corev1.Pod) {
			p.Spec.Containers = slices.DeleteFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name != "app" })
		}, after: "mandatory-changed", untolerable: true},
	}
	for name, tc := range edits {
		for order, namespace := range namespaces {
			for _, template := range []string{"soft", "hard", "lenient"} {
				t.Run(name+"/"+order+"/"+template, func(t *testing.T) {
					s.edit.Store(&tc.edit)
					got, err := c.CoreV1().Pods(namespace).Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/`+template+`": "true"`, ""), metav1.CreateOptions{})
					want := map[string]string{"before": tc.before, "after": tc.after}[order]
					if template == "soft" || template == "lenient" && !tc.untolerable {
						want = ""
					}
					if want != "" {
						if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want+": ") {
							t.Errorf("got %v, want a denial for %s", err, want)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if wanted := "app " + template; webhooktest.Containers(got) != wanted && name != "the container removed" {
						t.Errorf("containers %s, want %s", webhooktest.Containers(got), wanted)
					}
					// The pod is created again, from a backup or as a copy.
					restored := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "restored-", Labels: got.Labels, Annotations: got.Annotations}, Spec: got.Spec}
					restored.Spec.NodeName = ""
					again, err := c.CoreV1().Pods(namespace).Create(t.Context(), restored, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
					if err != nil || webhooktest.Containers(again) != webhooktest.Containers(got) && name != "the container removed" {
						t.Errorf("restored: %v, %v", again, err)
					}
				})
			}
		}
	}
}

// on edits the sidecar, if the pod has one.
func on(p *corev1.Pod, edit func(*corev1.Container)) {
	if s := sidecar(p); s != nil {
		edit(s)
	}
}
