package handlers_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

func TestTemplatesAreProvedWhenApplied(t *testing.T) {
	c := webhooktest.Started(t)
	tests := map[string]struct {
		config, options string
		denied          string   // part of the denial
		warnings        []string // parts of the warnings
	}{
		"an unknown field is refused with its path and line": {
			config: "containers:\n- name: a\n  imagee: b\n", denied: "template-invalid: data.config.containers[0].imagee (line 3): is not a field of this object",
		},
		"all mistakes are in one denial": {
			config: "containers: [{name: a, imagee: b}]\ninitContainers: [{name: C, image: i}]\n", options: "native: perhaps",
			denied: `template-invalid: data.options.native (line 1): is "perhaps"; write one of auto, always, never, preferred; ` +
				`template-invalid: data.config.containers[0].imagee (line 1): is not a field of this object; did you mean image?; ` +
				`template-invalid: data.config.initContainers[0].name (line 2): is "C"`,
		},
		"two mounts at one path are refused": {
			config: "containers: [{name: a, image: i, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]}]\nvolumes: [{name: v, emptyDir: {}}]",
			denied: "conflict-mount: data.config.containers[0].volumeMounts[1].mountPath",
		},
		"what only the API server knows is refused by it": {
			config: "containers: [{name: a, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]",
			denied: "the API server refuses the injected pod: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
		},
		"a field the API server refuses in a container": {
			config: "containers: [{name: a, image: i, livenessProbe: {httpGet: {path: /, port: 99999}}}]", denied: "must be between 1 and 65535",
		},
		"a good one is taken, and its effects told": {
			config: webhooktest.Small, warnings: []string{`template side: pods no longer meet the Pod Security level "restricted"`, "template side: pods of QoS class Guaranteed become Burstable"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c.Warnings.Take()
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": tc.config, "options": tc.options}}
			_, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if tc.denied != "" {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied) {
					t.Errorf("got %v, want a denial with %q", err, tc.denied)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := c.Warnings.Take()
			for _, want := range tc.warnings {
				if !strings.Contains(text, want) {
					t.Errorf("warnings lack %q: %s", want, text)
				}
			}
		})
	}
}

// TestShippedTemplatesKeepPodsValid checks that the API server accepts every
// valid pod of the corpus also with each of the templates.
func TestShippedTemplatesKeepPodsValid(t *testing.T) {
	c := webhooktest.Started(t)
	files, err := os.ReadDir("../../deploy/templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		cm := seed[corev1.ConfigMap](t, "../../deploy/templates/"+file.Name())
		template, err := template.Parse(template.NameOf(cm.Name, cm.Labels), cm.Data)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := injector.Prove(template)
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, trial := range proof.Trials {
			if err := dryRun(t, c, trial.Bare); err != nil {
				t.Errorf("%s is invalid without a template: %v", trial.Name, err)
				continue
			}
			tried++
			if err := dryRun(t, c, trial.Injected); err != nil {
				t.Errorf("%s with %s: %v", trial.Name, file.Name(), err)
			}
		}
		t.Logf("%s: %d corpus pods valid before and after", file.Name(), tried)
		if tried < 9 {
			t.Errorf("%s: only %d corpus pods were tried", file.Name(), tried)
		}
	}
}

func dryRun(t *testing.T, c *webhooktest.Cluster, pod []byte) error {
	t.Helper()
	pod = bytes.Replace(pod, []byte(`"spec":{`), []byte(`"spec":{"serviceAccountName":"usher-proof",`), 1)
	return c.CoreV1().RESTClient().Post().Namespace(facts.DefaultProofNamespace).Resource("pods").
		Param("dryRun", metav1.DryRunAll).SetHeader("Content-Type", "application/json").Body(pod).Do(t.Context()).Error()
}

func TestNoPodRunsInTheProofNamespace(t *testing.T) {
	c := webhooktest.Started(t)
	// A policy takes a moment to take effect.
	c.Until(t, "the policy refuses the pod", func() bool {
		p := webhooktest.Pod(t, "", "serviceAccountName: usher-proof, containers: [{name: app, image: app}]")
		created, err := c.CoreV1().Pods(facts.DefaultProofNamespace).Create(t.Context(), p, metav1.CreateOptions{})
		if err == nil {
			_ = c.CoreV1().Pods(facts.DefaultProofNamespace).Delete(t.Context(), created.Name, metav1.DeleteOptions{})
			return false
		}
		return strings.Contains(err.Error(), "pods in usher-proof are for dry-runs only")
	})
	if err := dryRun(t, c, []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"a"}]}}`)); err != nil {
		t.Errorf("a dry-run is refused: %v", err)
	}
}

// TestATemplateThatNeverWasGoodDeniesWhoAsks starts a replica that finds the
// template.
func TestATemplateThatNeverWasGoodDeniesWhoAsks(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	cm := c.Template(t, "side", webhooktest.Small, "")
	cm.Data["config"] = "containers: [{name: side, imagee: 'side:3'}]"
	c.Unguarded(t, cm)
	t.Run("a replica starts", c.Down)
	_, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, ""), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "template-invalid") {
		t.Errorf("got %v, want a denial with template-invalid", err)
	}
	if state := c.Readyz(t); !strings.Contains(state, "data.config.containers[0].imagee (line 1): is not a field of this object") {
		t.Errorf("/readyz?verbose does not tell: %s", state)
	}
}

func TestTemplatesAreTakenUntriedWhereTheyCannotBeTried(t *testing.T) {
	c := webhooktest.Started(t)
	namespaces := c.CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), "usher-proof", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := c.Plane.Kubectl(context.Background(), "", "apply", "-k", "../../deploy/base/proof"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	// No controller empties it here.
	ns, err := namespaces.Get(t.Context(), "usher-proof", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ns.Spec.Finalizers = nil
	if _, err := namespaces.Finalize(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": webhooktest.Small}}
	c.Until(t, "it is warned of", func() bool {
		c.Warnings.Take()
		_, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(c.Warnings.Take(), "not tested against the API server: namespaces \"usher-proof\" not found (run kubectl apply -k deploy/base/proof)")
	})
}

func TestDenialsOfOtherPoliciesAreWarnings(t *testing.T) {
	c := webhooktest.Started(t)
	policy := webhooktest.FromYAML[admissionregistrationv1.ValidatingAdmissionPolicy](t, `
metadata: {name: no-evil-images}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: usher-proof}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "object.spec.containers.all(c, c.image != 'evil')", message: no evil images}]
`)
	binding := webhooktest.FromYAML[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, `
metadata: {name: no-evil-images}
spec: {policyName: no-evil-images, validationActions: [Deny]}
`)
	api := c.AdmissionregistrationV1()
	if _, err := api.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = api.ValidatingAdmissionPolicyBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{})
		_ = api.ValidatingAdmissionPolicies().Delete(context.Background(), policy.Name, metav1.DeleteOptions{})
	})
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "evil-initializer"}, Data: map[string]string{"config": "containers: [{name: e, image: evil}]"}}
	c.Until(t, "the policy's denial is told", func() bool {
		c.Warnings.Take()
		_, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatalf("another policy's denial refused the template: %v", err)
		}
		return strings.Contains(c.Warnings.Take(), "another policy of this cluster denies pods that get it")
	})
}

func TestNamespacesAreWarnedOfNamesThatNoTemplateHas(t *testing.T) {
	c := webhooktest.Started(t)
	c.Warnings.Take()
	c.NewNamespace(t, map[string]string{"inject.usher.dev/templates": "Side_car"})
	want := `write names of templates separated by dots; "Side_car" must be lower case letters`
	if text := c.Warnings.Take(); !strings.Contains(text, want) {
		t.Errorf("got the warnings %q, want %q", text, want)
	}
}

func TestNamespacesAreWarnedOfTemplatesThatAreMissing(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	c.Warnings.Take()
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "side.nowhere"})
	if text := c.Warnings.Take(); !strings.Contains(text, `asks for the template "nowhere", which does not exist`) || strings.Contains(text, `template "side"`) {
		t.Errorf("warnings %q", text)
	}
	// A change that does not affect the label is not sent.
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := c.Warnings.Take(); text != "" {
		t.Errorf("warnings %q", text)
	}
	c.Until(t, "the deletion of a template in use is warned of", func() bool {
		err := c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(t.Context(), "side-initializer", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(c.Warnings.Take(), "namespace(s) request the template side by label")
	})
}

func TestTemplatesThatCannotGoTogetherAreNamed(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "first", "containers: [{name: same, image: i}]", "")
	c.Until(t, "the first is loaded", func() bool { return strings.Contains(c.Readyz(t), "template first ") })
	c.Warnings.Take()
	c.Template(t, "second", "containers: [{name: same, image: i}]", "")
	if text := c.Warnings.Take(); !strings.Contains(text, "templates first and second cannot be injected together: conflict-container") {
		t.Errorf("warnings %q", text)
	}
}

func TestTemplateThatEndsItsOwnSelectorIsAWarning(t *testing.T) {
	c := webhooktest.Started(t)
	c.Warnings.Take()
	c.Template(t, "side", "containers: [{name: side, image: i}]\nlabels: {tier: x}", "match: {podSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}")
	const want = "the template side sets the label tier: x, and options.match of the template side selects only pods with !tier"
	if text := c.Warnings.Take(); !strings.Contains(text, want) {
		t.Errorf("warnings %q", text)
	}
}

// TestALiteralCredentialIsAWarning applies a template with one; neither the
// warnings nor the log contain its value.
func TestALiteralCredentialIsAWarning(t *testing.T) {
	c := webhooktest.Started(t)
	c.Warnings.Take()
	c.Template(t, "side", "containers: [{name: side, image: 'side:1', env: [{name: DB_PASSWORD, value: hunter2}]}]", "")
	const want = "template side: the value of the variable DB_PASSWORD in the container side looks like a credential; refer to a Secret with valueFrom.secretKeyRef instead"
	if text := c.Warnings.Take(); !strings.Contains(text, want) || strings.Contains(text, "hunter2") {
		t.Errorf("warnings %q", text)
	}
}
