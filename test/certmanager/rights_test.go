package certmanager

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/webhook"
)

// auditPolicy only logs the requests of usher's ServiceAccount.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, users: ["` + controlplane.WebhookUser + `"]}, {level: None}]
`

var auditLog string

// TestTheOverlaysRightsAreEnoughAndOneReplicaKeepsTheObjects installs the
// overlay and runs two replicas with its rights.
func TestTheOverlaysRightsAreEnoughAndOneReplicaKeepsTheObjects(t *testing.T) {
	c := newClient(t)
	startControllers(t)
	overlay, err := filepath.Abs("../../deploy/overlays/cert-manager")
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-k", overlay)
	// Without earlier certificates: there is nothing to serve when the replicas
	// start.
	empty := func() {
		kubectl(t, "delete", "-n", namespace, "certificates,issuers", "--all")
		kubectl(t, "delete", "-n", namespace, "secrets", "--all")
	}
	empty()
	first := replica(t)
	if err := plane.UntilRegistered(t.Context(), first.URL); err != nil {
		t.Fatal(err)
	}
	second := replica(t)

	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "usher-serving"}, secret); err != nil {
		t.Fatal(err)
	}
	registered := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: wellknown.DefaultConfigurationName}, registered); err != nil {
		t.Fatal(err)
	}
	if bundle := registered.Webhooks[0].ClientConfig.CABundle; !bytes.Equal(bundle, secret.Data["ca.crt"]) {
		t.Errorf("the webhook is trusted by %s, want cert-manager's CA %s", bundle, secret.Data["ca.crt"])
	}
	template := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "side-initializer"}, Data: map[string]string{"config": "containers: [{name: side, image: side}"},
	}
	if err := c.Create(t.Context(), template, client.DryRunAll); err == nil {
		t.Error("usher was not asked about a template that is not YAML")
	}

	restored := func(name string) {
		t.Helper()
		certificate := &certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := c.Delete(t.Context(), certificate); err != nil {
			t.Fatal(err)
		}
		until(t, "the Certificate "+name+" is there again", func() bool {
			return c.Get(t.Context(), client.ObjectKeyFromObject(certificate), &certmanagerv1.Certificate{}) == nil
		})
	}
	restored("usher-serving")
	if keepers := keepers(t); len(keepers) != 1 {
		t.Errorf("%d replicas keep the objects while both run, want one", len(keepers))
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := plane.UntilRegistered(t.Context(), second.URL); err != nil {
		t.Fatal(err)
	}
	restored("usher-serving-ca")
	if keepers := keepers(t); len(keepers) != 2 {
		t.Errorf("%d replicas have kept the objects one after the other, want two", len(keepers))
	}
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}

	used := map[string]bool{}
	for _, e := range audited(t) {
		if e.ResponseStatus.Code == 403 {
			t.Errorf("usher was refused: %s", e)
		}
		if e.ObjectRef.APIGroup == "cert-manager.io" || e.ObjectRef.Resource == "secrets" {
			used[e.String()] = true
		}
	}
	// Informers list if the server cannot stream the existing objects.
	delete(used, "list secrets usher-serving")
	want := []string{
		"get secrets usher-serving",
		"patch certificates usher-serving", "patch certificates usher-serving-ca",
		"patch issuers usher-serving-ca", "patch issuers usher-serving-root",
		"watch secrets usher-serving",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("what usher did with Secrets and at cert-manager (-want +got):\n%s", diff)
	}
	empty()
}

// replica starts a replica, which is ready when cert-manager has issued.
func replica(t *testing.T) *usherwebhook.Server {
	t.Helper()
	u, err := usherwebhook.StartUnregistered(t.Context(), plane, logr.Discard(), func(o *webhook.Options) {
		o.Certificates.From = webhook.CertificatesCertManager
		o.Certificates.Lifetimes = certs.Lifetimes{CA: 30 * 24 * time.Hour, Serving: 24 * time.Hour, Overlap: time.Second}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Stop() })
	return u
}

func kubectl(t *testing.T, args ...string) {
	t.Helper()
	if out, err := plane.Kubectl(t.Context(), "", args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// An event is the relevant part of a request in the audit log.
type event struct {
	Verb string
	User struct{ Extra map[string][]string }
	// ObjectRef is empty for requests without a resource.
	ObjectRef struct {
		APIGroup, Resource, Name string
	}
	ResponseStatus struct{ Code int }
}

func (e event) String() string {
	return e.Verb + " " + e.ObjectRef.Resource + " " + e.ObjectRef.Name
}

// keepers returns the tokens that applied cert-manager's objects: each replica
// has its own.
func keepers(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, e := range audited(t) {
		if e.Verb == "patch" && e.ObjectRef.APIGroup == "cert-manager.io" {
			found[e.User.Extra["authentication.kubernetes.io/credential-id"][0]] = true
		}
	}
	return found
}

func audited(t *testing.T) []event {
	t.Helper()
	f, err := os.Open(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}
