package main

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/registration"
)

func (c *testCluster) registered(t *testing.T) bool {
	t.Helper()
	_, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), registration.ConfigurationName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	_, other := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), registration.ConfigurationName, metav1.GetOptions{})
	if (err == nil) != (other == nil) {
		return true
	}
	return err == nil
}

func TestUninstall(t *testing.T) {
	c := startedCluster(t)
	uninstall := func(t *testing.T, args ...string) (int, string, string) {
		t.Helper()
		return c.usher(t, append([]string{"uninstall"}, args...)...)
	}
	expect := func(t *testing.T, text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("lacks %q:\n%s", want, text)
			}
		}
	}
	t.Run("a dry-run changes nothing", func(t *testing.T) {
		status, out, errs := uninstall(t, "--dry-run")
		expect(t, out, "MutatingWebhookConfiguration usher: would be removed", "ValidatingWebhookConfiguration usher: would be removed", "Secret usher-system/usher-ca: stays")
		if status != cli.Clean || !c.registered(t) {
			t.Errorf("%d %s", status, errs)
		}
	})
	t.Run("while usher runs it registers no more", func(t *testing.T) {
		status, out, errs := uninstall(t)
		expect(t, out, "MutatingWebhookConfiguration usher: removed", "ValidatingWebhookConfiguration usher: removed", "Lease usher-system/usher-registration: stays")
		expect(t, errs, "will register again in 5m0s")
		if status != cli.Clean {
			t.Errorf("%d %s", status, errs)
		}
		// By then the holder has received the event to repair.
		c.apply(t, controlplane.Namespace, templateManifest("side:1"))
		c.apply(t, controlplane.Namespace, strings.Replace(templateManifest("side:1"), "{config:", "{options: 'mandatory: true', config:", 1))
		if c.registered(t) {
			t.Error("it is registered")
		}
	})
	t.Run("while usher is down everything goes", func(t *testing.T) {
		if err := c.server.Stop(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			server, err := c.plane.StartReplica(context.Background(), logr.Discard())
			if err != nil {
				t.Error(err)
				return
			}
			c.server = server
		})
		status, out, errs := uninstall(t, "--all")
		expect(t, out, "MutatingWebhookConfiguration usher: not found", "Secret usher-system/usher-ca: removed", "ConfigMap usher-system/usher-last-valid: ", "Lease usher-system/usher-registration: removed")
		if status != cli.Clean || strings.Contains(out, "Secret usher-system/usher-ca: stays") {
			t.Errorf("%d %s", status, errs)
		}
	})
}
