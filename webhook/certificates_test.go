package webhook_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// The failurePolicy of injection is Ignore: a failed handshake shows as a pod
// without its sidecar.
func TestChangesOfTheCALetNoPodPassUninjected(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	ns := c.NewNamespace(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var created, bare atomic.Int64
	var creators sync.WaitGroup
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for range 2 {
		asking := webhooktest.Pod(t, webhooktest.Asks, "")
		creators.Go(func() {
			for ctx.Err() == nil {
				<-pace.C
				got, err := c.CoreV1().Pods(ns).Create(ctx, asking.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				switch {
				case ctx.Err() != nil:
				case err != nil:
					t.Error(err)
					return
				case webhooktest.Containers(got) != "app side":
					bare.Add(1)
				}
				created.Add(1)
			}
		})
	}

	for range 3 {
		former := ca(t, c)
		// Deleting the Secret requests another CA.
		if err := c.CoreV1().Secrets(controlplane.Namespace).Delete(t.Context(), "usher-ca", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Until(t, "the next CA is registered next to the former", func() bool {
			bundle := registeredBundle(t, c)
			return bytes.Contains(bundle, former) && len(bundle) > len(former)
		})
		c.Until(t, "the next CA is alone", func() bool {
			current := ca(t, c)
			return len(current) > 0 && !bytes.Equal(current, former) && bytes.Equal(registeredBundle(t, c), current)
		})
	}
	cancel()
	creators.Wait()
	if bare.Load() > 0 || created.Load() < 100 {
		t.Errorf("%d of %d pods without their sidecar", bare.Load(), created.Load())
	}
	t.Logf("%d pods created during three changes", created.Load())
	if state := c.Readyz(t); !strings.Contains(state, "\ncertificate serves until ") || !strings.Contains(state, "(stable)") {
		t.Errorf("/readyz?verbose is %s", state)
	}
	events, err := c.EventsV1().Events(controlplane.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason == "CAChanged" && e.Regarding.Kind == "Secret" && e.Regarding.Name == "usher-ca" {
			return
		}
	}
	t.Errorf("no Event tells that the CA changed, of %d", len(events.Items))
}

// ca is the signing CA.
func ca(t *testing.T, c *webhooktest.Cluster) []byte {
	t.Helper()
	secret, err := c.CoreV1().Secrets(controlplane.Namespace).Get(t.Context(), "usher-ca", metav1.GetOptions{})
	if err != nil {
		return nil // deleted shortly before
	}
	return secret.Data[corev1.TLSCertKey]
}

func registeredBundle(t *testing.T, c *webhooktest.Cluster) []byte {
	t.Helper()
	config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return config.Webhooks[0].ClientConfig.CABundle
}

func TestImpossibleCertificatesAreRefused(t *testing.T) {
	tests := map[string]struct {
		certificates webhook.Certificates
		want         string
	}{
		"the default":              {webhook.Certificates{}, ""},
		"files":                    {webhook.Certificates{From: "files", Dir: "/certs"}, ""},
		"an unknown source":        {webhook.Certificates{From: "vault"}, `certificates "vault": write self-signed, cert-manager or files`},
		"files without a folder":   {webhook.Certificates{From: "files"}, `certificates "files" with folder "": a folder is only for certificates from files`},
		"a folder without a cause": {webhook.Certificates{From: "cert-manager", Dir: "/x"}, `certificates "cert-manager" with folder "/x": a folder is only for certificates from files`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := test.certificates.Validate(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}
