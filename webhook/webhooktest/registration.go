package webhooktest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
)

// Rendered returns the webhooks of both configurations as stored by the API
// server, and the generation of the mutating one.
func (c *Cluster) Rendered(t *testing.T) (string, int64) {
	t.Helper()
	mutating, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		return err.Error(), 0
	}
	validating, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		return err.Error(), 0
	}
	text, err := json.MarshalIndent([]any{mutating.Webhooks, validating.Webhooks}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text), mutating.Generation
}

// Lists reports whether the registration contains a text.
func (c *Cluster) Lists(t *testing.T, text string) bool {
	t.Helper()
	all, _ := c.Rendered(t)
	return strings.Contains(all, text)
}

// Policies returns the failure policies of the entries that inject, by their
// names without the suffix.
func (c *Cluster) Policies(t *testing.T) map[string]string {
	t.Helper()
	config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, w := range config.Webhooks {
		if name, injects := strings.CutSuffix(w.Name, ".inject.usher.dev"); injects {
			found[name] = string(*w.FailurePolicy)
		}
	}
	return found
}

// Unguarded updates a template as if usher were down, without validation.
func (c *Cluster) Unguarded(t *testing.T, cm *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	giveBack, err := c.Plane.TakeLease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	api := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	config, err := api.Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), config.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := giveBack(); err != nil {
			t.Error(err)
		}
		config.ResourceVersion = ""
		if _, err := api.Create(context.Background(), config, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Error(err)
		}
		// The next test relies on the validation of templates.
		broken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "broken-initializer"}}
		c.Until(t, "templates are proved again", func() bool {
			_, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(context.Background(), broken, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return apierrors.IsForbidden(err)
		})
	})
	var updated *corev1.ConfigMap
	c.Until(t, "the API server sees that no user is asked", func() bool {
		var err error
		updated, err = c.CoreV1().ConfigMaps(controlplane.Namespace).Update(t.Context(), cm, metav1.UpdateOptions{})
		return err == nil
	})
	return updated
}
