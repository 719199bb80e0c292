//go:build e2e

package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/pki"
	alerts "github.com/usher-dev/usher/test/prometheus"
	webhookreview "github.com/usher-dev/usher/webhook/review"
)

// monitored returns a Prometheus that scrapes the service's replicas.
func (s *service) monitored(t *testing.T) *alerts.Prometheus {
	t.Helper()
	p := alerts.New(t)
	for _, r := range s.replicas {
		p.Targets = append(p.Targets, alerts.At("usher-webhook", r.metrics))
	}
	return p
}

// toAPIServer is the end of a tunnel to the API server.
func toAPIServer(t *testing.T) func() string {
	t.Helper()
	address, _, err := rest.DefaultServerUrlFor(shared.plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	return func() string { return address.Host }
}

// kill kills a replica with SIGKILL.
func (r *replica) kill() {
	_ = r.Process.Kill()
	<-r.ended
}

// ofTheWebhook are the alerts that depend on the webhook's own metrics.
var ofTheWebhook = []string{
	"UsherDown", "UsherNotRedundant", "UsherFaults", "UsherPanics", "UsherThrottles", "UsherSlow", "UsherMalformedRequests", "UsherConnectionsClosed", "UsherTemplateInvalid",
	"UsherConfigurationInvalid", "UsherTemplateMissing", "UsherReplicasDisagree", "UsherCertificateExpires", "UsherNotRegistered", "UsherMemoryNearLimit",
}

func TestReplicasThatAreGoneAreAlertedOn(t *testing.T) {
	leaveNoLease(t)
	s := newService(t, shared.plane.Config.Host, 2)
	p := s.monitored(t)
	p.Pass(2*time.Hour, func() { _, _ = create(t.Context()) })
	p.Quiet(ofTheWebhook...)
	s.replicas[0].kill()
	until(t, "the other one registers", func() bool {
		text, err := p.Targets[1].Get(t.Context())
		return err == nil && slices.Contains(alerts.Samples(text, "usher_registration_current"), "usher_registration_current 1")
	})
	p.Pass(17 * time.Minute)
	p.Fires("UsherNotRedundant")
	p.Quiet("UsherDown", "UsherNotRegistered")
	s.replicas[1].kill()
	p.Pass(11 * time.Minute) // five minutes until the last samples are stale, unless they were marked
	p.Fires("UsherDown")
}

// TestAnAPIServerThatDoesNotAnswerIsAlertedOn makes replicas read from it what
// they need to decide.
func TestAnAPIServerThatDoesNotAnswerIsAlertedOn(t *testing.T) {
	apiServer := newTunnel(t, toAPIServer(t))
	s := newService(t, "https://"+apiServer.Addr().String(), 0)
	const decided = 4
	r := s.start(t, func(c *exec.Cmd) { c.Args = append(c.Args, fmt.Sprintf("--max-concurrent=%d", decided)) })
	until(t, "it is ready", r.ready)
	s.replicas = []*replica{r}
	if err := shared.plane.UntilRegistered(t.Context(), "https://"+s.Addr().String()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted(t)}}
	defer client.CloseIdleConnections()
	const scale = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":"autoscaling","version":"v1","kind":"Scale"},` +
		`"resource":{"group":"apps","version":"v1","resource":"deployments"},"subResource":"scale","namespace":"default","name":"app","operation":"UPDATE",` +
		`"object":{"spec":{"replicas":3}},"oldObject":{"spec":{"replicas":2}}}}`
	var mu sync.Mutex
	answers := map[int]int{}
	ask := func() {
		var asking sync.WaitGroup
		for range decided + 1 {
			asking.Go(func() {
				res, err := client.Post("https://"+r.address+"/validate", "application/json", strings.NewReader(scale))
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
				mu.Lock()
				defer mu.Unlock()
				answers[res.StatusCode]++
			})
		}
		asking.Wait()
	}
	p := s.monitored(t)
	ask()
	p.Pass(20 * time.Minute)
	p.Quiet("UsherFaults", "UsherThrottles", "UsherSlow")
	apiServer.turn(stalled)
	for range 4 { // each takes usher's whole deadline
		ask()
		p.Pass(4 * time.Minute)
	}
	for _, name := range []string{"UsherFaults", "UsherThrottles", "UsherSlow"} {
		p.Fires(name)
	}
	if answers[http.StatusServiceUnavailable]+answers[http.StatusInternalServerError] == 0 || answers[http.StatusTooManyRequests] == 0 {
		t.Errorf("answers by status: %v, want some 5xx and 429", answers)
	}
}

// TestAPanicIsAlertedOn has a handler of its own: no known request makes one of
// usher's panic.
func TestAPanicIsAlertedOn(t *testing.T) {
	registry, ready := prometheus.NewRegistry(), make(chan struct{})
	close(ready)
	mux := webhookreview.NewMux(webhookreview.Options{Ready: ready, Metrics: webhookreview.NewMetrics(registry), Log: logr.Discard()}, webhookreview.Handler{
		Path: "/mutate", Decide: func(context.Context, *webhookreview.Request) (*webhookreview.Response, error) { panic("a bug") },
	})
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	p := alerts.New(t, alerts.At("usher-webhook", strings.TrimPrefix(server.URL, "http://")))
	p.Pass(20 * time.Minute)
	p.Quiet("UsherPanics")
	post(t, http.DefaultClient, server.URL+"/mutate", "{}")
	p.Pass(2 * time.Minute)
	p.Quiet("UsherPanics")
	post(t, http.DefaultClient, server.URL+"/mutate", review)
	p.Pass(2 * time.Minute)
	p.Fires("UsherPanics")
}

func post(t *testing.T, client *http.Client, url, body string) {
	t.Helper()
	res, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	res.Body.Close()
}

func TestAStrangerOnThePortIsAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted(t)}}
	defer client.CloseIdleConnections()
	p := s.monitored(t)
	p.Pass(22*time.Minute, func() {
		for range 10 {
			post(t, client, "https://"+s.replicas[0].address+"/mutate", "who is there")
		}
	})
	p.Fires("UsherMalformedRequests")
}

// TestConnectionsBeyondTheLimitAreAlertedOn opens more of them than a replica
// accepts, again and again.
func TestConnectionsBeyondTheLimitAreAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 0)
	const limit = 8
	r := s.start(t, func(c *exec.Cmd) { c.Args = append(c.Args, fmt.Sprintf("--max-connections=%d", limit)) })
	until(t, "it is ready", r.ready)
	s.replicas = []*replica{r}
	p := s.monitored(t)
	p.Pass(15 * time.Minute)
	p.Quiet("UsherConnectionsClosed")
	p.Pass(12*time.Minute, func() {
		for range limit + 1 {
			c, err := net.Dial("tcp", r.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
		}
	})
	p.Fires("UsherConnectionsClosed", "server", "webhook")
}

func TestATemplateThatIsNotThereIsAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	p := s.monitored(t)
	p.Pass(20 * time.Minute)
	p.Quiet("UsherTemplateMissing")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: map[string]string{"inject.usher.dev/nowhere": "true"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	if _, err := shared.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err == nil {
		t.Fatal("the pod was not denied")
	}
	// One denial is sufficient, although it creates the counter.
	p.Pass(2 * time.Minute)
	p.Fires("UsherTemplateMissing")
	p.Pass(20 * time.Minute)
	p.Quiet("UsherTemplateMissing")
}

// TestObjectsAppliedDuringAnOutageAreAlertedOn applies what usher would have
// refused.
func TestObjectsAppliedDuringAnOutageAreAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	p := s.monitored(t)
	p.Pass(10 * time.Minute)
	p.Quiet("UsherTemplateInvalid", "UsherConfigurationInvalid")
	s.turn(cut)
	for name, data := range map[string]map[string]string{
		"bad-initializer": {"config": "containers: {}"},
		"usher":           {"config.yaml": "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\nno: such field\n"},
	} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
		if _, err := shared.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := shared.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	s.turn(open)
	until(t, "usher has read them", func() bool {
		text, err := p.Targets[0].Get(t.Context())
		return err == nil && slices.Contains(alerts.Samples(text, "usher_template_valid"), `usher_template_valid{template="bad"} 0`) &&
			slices.Contains(alerts.Samples(text, "usher_configuration_valid"), "usher_configuration_valid 0")
	})
	p.Pass(7 * time.Minute)
	p.Fires("UsherTemplateInvalid", "template", "bad")
	p.Fires("UsherConfigurationInvalid")
}

// TestAReplicaThatIsLeftBehindIsAlertedOn disconnects one of two from the API
// server while a template changes.
func TestAReplicaThatIsLeftBehindIsAlertedOn(t *testing.T) {
	apiServer := newTunnel(t, toAPIServer(t))
	s := newService(t, shared.plane.Config.Host, 1)
	behind := newService(t, "https://"+apiServer.Addr().String(), 0)
	behind.scale(t, 1)
	p := s.monitored(t)
	p.Targets = append(p.Targets, behind.monitored(t).Targets...)
	p.Pass(15 * time.Minute)
	p.Quiet("UsherReplicasDisagree")
	apiServer.turn(cut)
	template := func(name string) {
		t.Helper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": "containers: [{name: " + name + ", image: 'side:1'}]"}}
		if _, err := shared.CoreV1().ConfigMaps(controlplane.Namespace).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	template("newer")
	until(t, "the other serves the newer one", func() bool { got, err := create(t.Context()); return err == nil && got == "app newer" })
	p.Pass(12 * time.Minute)
	p.Fires("UsherReplicasDisagree")
	template("side")
	until(t, "they agree again", func() bool { got, err := create(t.Context()); return err == nil && got == "app side" })
	p.Pass(2 * time.Minute)
	p.Quiet("UsherReplicasDisagree")
}

// TestACertificateThatNobodyRenewsIsAlertedOn serves with a certificate for one
// day.
func TestACertificateThatNobodyRenewsIsAlertedOn(t *testing.T) {
	issued, err := pki.New(controlplane.Namespace, "usher")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, from := range map[string]string{"tls.crt": "server.crt", "tls.key": "server.key", "ca.crt": "server-ca.crt"} {
		if err := os.WriteFile(filepath.Join(folder, name), issued.Server[from], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newService(t, shared.plane.Config.Host, 0)
	r := s.start(t, func(c *exec.Cmd) { c.Args = append(c.Args, "--certificates=files", "--certificates-dir="+folder) })
	until(t, "it says until when it serves", func() bool { return len(r.samples(t, "usher_certificate_expiry_seconds")) == 2 })
	s.replicas = []*replica{r}
	p := s.monitored(t)
	p.Pass(62 * time.Minute)
	p.Fires("UsherCertificateExpires")
}

// samples returns the lines of a metric of the replica.
func (r *replica) samples(t *testing.T, metric string) []string {
	t.Helper()
	text, err := alerts.At("", r.metrics).Get(t.Context())
	if err != nil {
		return nil
	}
	return alerts.Samples(text, metric)
}

// TestAReplicaThatCannotRegisterIsAlertedOn has a replica that is ready but
// cannot register.
func TestAReplicaThatCannotRegisterIsAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	p := s.monitored(t)
	p.Pass(10 * time.Minute)
	p.Quiet("UsherNotRegistered")
	roles := shared.RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), "usher-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	without := role.DeepCopy()
	without.Rules = slices.DeleteFunc(without.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "admissionregistration.k8s.io") })
	if _, err := roles.Update(t.Context(), without, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	giveBack := sync.OnceFunc(func() {
		patch, err := json.Marshal(map[string]any{"rules": role.Rules})
		if err != nil {
			t.Error(err)
		}
		if _, err := roles.Patch(context.Background(), role.Name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(giveBack)
	r := s.replicas[0]
	// Deleting the registration triggers the replica, which restores it until the
	// API server knows that the right is gone.
	until(t, "it knows that it cannot register", func() bool {
		_ = shared.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), "usher", metav1.DeleteOptions{})
		_ = shared.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "usher", metav1.DeleteOptions{})
		return slices.Contains(r.samples(t, "usher_registration_current"), "usher_registration_current 0")
	})
	if !r.ready() {
		t.Error("it is not ready; the alert would not be needed")
	}
	p.Pass(7 * time.Minute)
	p.Fires("UsherNotRegistered")
	giveBack()
	until(t, "it registers again", func() bool {
		return slices.Contains(r.samples(t, "usher_registration_current"), "usher_registration_current 1")
	})
	p.Pass(time.Minute)
	p.Quiet("UsherNotRegistered")
}

// TestALimitThatIsTooSmallIsAlertedOn gives a replica less memory than it needs.
func TestALimitThatIsTooSmallIsAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 0)
	r := s.start(t, func(c *exec.Cmd) { c.Env = append(os.Environ(), "GOMEMLIMIT=8MiB") })
	until(t, "it is ready", r.ready)
	s.replicas = []*replica{r}
	p := s.monitored(t)
	p.Pass(12 * time.Minute)
	p.Fires("UsherMemoryNearLimit")
}
