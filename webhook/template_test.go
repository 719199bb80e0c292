package webhook_test

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

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
)

func TestTemplatesAreProvedWhenApplied(t *testing.T) {
	c := started(t)
	tests := map[string]struct {
		config, options string
		denied          string   // part of the denial
		warnings        []string // parts of the warnings
	}{
		"an unknown field is refused with its path and line": {
			config: "containers:\n- name: a\n  imagee: b\n", denied: "template-invalid: data.config.containers[0].imagee (line 3): is not a field of this object",
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
			config: small, warnings: []string{`template side: pods no longer meet the Pod Security level "restricted"`, "template side: pods of QoS class Guaranteed become Burstable"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c.warnings.take()
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": tc.config}}
			_, err := c.CoreV1().ConfigMaps(ownNamespace).Create(t.Context(), cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if tc.denied != "" {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied) {
					t.Errorf("got %v, want a denial with %q", err, tc.denied)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := c.warnings.take()
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
	c := started(t)
	files, err := os.ReadDir("../deploy/templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		cm := seed[corev1.ConfigMap](t, "../deploy/templates/"+file.Name())
		template, err := injector.ParseTemplate(injector.TemplateName(cm.Name, cm.Labels), cm.Data)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := injector.Prove(template)
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, trial := range proof.Trials {
			if err := c.dryRun(t, trial.Bare); err != nil {
				t.Errorf("%s is invalid without a template: %v", trial.Name, err)
				continue
			}
			tried++
			if err := c.dryRun(t, trial.Injected); err != nil {
				t.Errorf("%s with %s: %v", trial.Name, file.Name(), err)
			}
		}
		t.Logf("%s: %d corpus pods valid before and after", file.Name(), tried)
		if tried < 9 {
			t.Errorf("%s: only %d corpus pods were tried", file.Name(), tried)
		}
	}
}

func (c *cluster) dryRun(t *testing.T, pod []byte) error {
	t.Helper()
	pod = bytes.Replace(pod, []byte(`"spec":{`), []byte(`"spec":{"serviceAccountName":"usher-proof",`), 1)
	return c.CoreV1().RESTClient().Post().Namespace(facts.DefaultProofNamespace).Resource("pods").
		Param("dryRun", metav1.DryRunAll).SetHeader("Content-Type", "application/json").Body(pod).Do(t.Context()).Error()
}

func TestNoPodRunsInTheProofNamespace(t *testing.T) {
	c := started(t)
	// A policy takes a moment to take effect.
	c.until(t, "the policy refuses the pod", func() bool {
		p := pod(t, "", "serviceAccountName: usher-proof, containers: [{name: app, image: app}]")
		created, err := c.CoreV1().Pods(facts.DefaultProofNamespace).Create(t.Context(), p, metav1.CreateOptions{})
		if err == nil {
			_ = c.CoreV1().Pods(facts.DefaultProofNamespace).Delete(t.Context(), created.Name, metav1.DeleteOptions{})
			return false
		}
		return strings.Contains(err.Error(), "pods in usher-proof are for dry-runs only")
	})
	if err := c.dryRun(t, []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"a"}]}}`)); err != nil {
		t.Errorf("a dry-run is refused: %v", err)
	}
}

// TestATemplateThatNeverWasGoodDeniesWhoAsks starts a replica that finds the
// template.
func TestATemplateThatNeverWasGoodDeniesWhoAsks(t *testing.T) {
	c := started(t)
	ns := c.newNamespace(t, nil)
	cm := c.template(t, "side", small, "")
	cm.Data["config"] = "containers: [{name: side, imagee: 'side:3'}]"
	c.unguarded(t, cm)
	t.Run("a replica starts", c.down)
	_, err := c.CoreV1().Pods(ns).Create(t.Context(), pod(t, asks, ""), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "template-invalid") {
		t.Errorf("got %v, want a denial with template-invalid", err)
	}
	if state := c.readyz(t); !strings.Contains(state, "data.config.containers[0].imagee (line 1): is not a field of this object") {
		t.Errorf("/readyz?verbose does not tell: %s", state)
	}
}

func TestTemplatesAreTakenUntriedWhereTheyCannotBeTried(t *testing.T) {
	c := started(t)
	namespaces := c.CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), "usher-proof", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := c.plane.Kubectl(context.Background(), "", "apply", "-k", "../deploy/base/proof"); err != nil {
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
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": small}}
	c.until(t, "it is warned of", func() bool {
		c.warnings.take()
		_, err := c.CoreV1().ConfigMaps(ownNamespace).Create(t.Context(), cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(c.warnings.take(), "not tested against the API server: namespaces \"usher-proof\" not found (run kubectl apply -k deploy/base/proof)")
	})
}

func TestDenialsOfOtherPoliciesAreWarnings(t *testing.T) {
	c := started(t)
	policy := fromYAML[admissionregistrationv1.ValidatingAdmissionPolicy](t, `
metadata: {name: no-evil-images}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: usher-proof}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "object.spec.containers.all(c, c.image != 'evil')", message: no evil images}]
`)
	binding := fromYAML[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, `
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
	c.until(t, "the policy's denial is told", func() bool {
		c.warnings.take()
		_, err := c.CoreV1().ConfigMaps(ownNamespace).Create(t.Context(), cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatalf("another policy's denial refused the template: %v", err)
		}
		return strings.Contains(c.warnings.take(), "another policy of this cluster denies pods that get it")
	})
}

func TestNamespacesAreWarnedOfNamesThatNoTemplateHas(t *testing.T) {
	c := started(t)
	c.warnings.take()
	c.newNamespace(t, map[string]string{"inject.usher.dev/templates": "Side_car"})
	want := `write names of templates separated by dots; "Side_car" must be lower case letters`
	if text := c.warnings.take(); !strings.Contains(text, want) {
		t.Errorf("got the warnings %q, want %q", text, want)
	}
}

func TestNamespacesAreWarnedOfTemplatesThatAreMissing(t *testing.T) {
	c := started(t)
	c.template(t, "side", small, "")
	c.warnings.take()
	ns := c.newNamespace(t, map[string]string{injector.NamespaceLabel: "side.nowhere"})
	if text := c.warnings.take(); !strings.Contains(text, `asks for the template "nowhere", which does not exist`) || strings.Contains(text, `template "side"`) {
		t.Errorf("warnings %q", text)
	}
	// A change that does not affect the label is not sent.
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := c.warnings.take(); text != "" {
		t.Errorf("warnings %q", text)
	}
	c.until(t, "the deletion of a template in use is warned of", func() bool {
		err := c.CoreV1().ConfigMaps(ownNamespace).Delete(t.Context(), "side-initializer", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(c.warnings.take(), "namespace(s) request the template side by label")
	})
}

func TestTemplatesThatCannotGoTogetherAreNamed(t *testing.T) {
	c := started(t)
	c.template(t, "first", "containers: [{name: same, image: i}]", "")
	c.until(t, "the first is loaded", func() bool { return strings.Contains(c.readyz(t), "template first ") })
	c.warnings.take()
	c.template(t, "second", "containers: [{name: same, image: i}]", "")
	if text := c.warnings.take(); !strings.Contains(text, "templates first and second cannot be injected together: conflict-container") {
		t.Errorf("warnings %q", text)
	}
}

func TestTemplateThatEndsItsOwnSelectorIsAWarning(t *testing.T) {
	c := started(t)
	c.warnings.take()
	c.template(t, "side", "containers: [{name: side, image: i}]\nlabels: {tier: x}", "match: {podSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}")
	const want = "the template side sets the label tier: x, and options.match of the template side selects only pods with !tier"
	if text := c.warnings.take(); !strings.Contains(text, want) {
		t.Errorf("warnings %q", text)
	}
}

// TestALiteralCredentialIsAWarning applies a template with one; neither the
// warnings nor the log contain its value.
func TestALiteralCredentialIsAWarning(t *testing.T) {
	c := started(t)
	c.warnings.take()
	c.template(t, "side", "containers: [{name: side, image: 'side:1', env: [{name: DB_PASSWORD, value: hunter2}]}]", "")
	const want = "template side: the value of the variable DB_PASSWORD in the container side looks like a credential; refer to a Secret with valueFrom.secretKeyRef instead"
	if text := c.warnings.take(); !strings.Contains(text, want) || strings.Contains(text, "hunter2") {
		t.Errorf("warnings %q", text)
	}
}
