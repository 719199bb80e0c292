package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/test/controlplane"
)

// programs are the Deployments of usher's programs, whose pods a test runs.
const programs = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: usher-COMPONENT, labels: {app.kubernetes.io/name: usher, app.kubernetes.io/component: COMPONENT}}
spec:
  replicas: 2
  selector: {matchLabels: {app.kubernetes.io/component: COMPONENT}}
  template:
    metadata: {labels: {app.kubernetes.io/name: usher, app.kubernetes.io/component: COMPONENT}}
    spec: {containers: [{name: usher, image: "usher:v1", ports: [{name: metrics, containerPort: 8080}]}]}
`

// lease patches a Lease in usher's namespace; the replica that had it no longer does.
func (c *testCluster) lease(t *testing.T, name, holder string, renewed time.Time) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"holderIdentity":%q,"leaseDurationSeconds":3600,"renewTime":%q}}`, holder, renewed.UTC().Format(metav1.RFC3339Micro))
	if _, err := c.CoordinationV1().Leases(controlplane.Namespace).Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// installed runs what an installation consists of, and keeps the running replica from
// registering, so that a test can break it.
func (c *testCluster) installed(t *testing.T) {
	t.Helper()
	for _, component := range []string{"webhook", "controller"} {
		manifest := strings.ReplaceAll(programs, "COMPONENT", component)
		c.apply(t, controlplane.Namespace, manifest)
		t.Cleanup(func() {
			if out, err := c.plane.Kubectl(context.Background(), manifest, "delete", "-n", controlplane.Namespace, "-f", "-"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	c.kubelet(t, controlplane.Namespace)
	c.apply(t, controlplane.Namespace, "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: usher-controller}}")
	t.Cleanup(func() {
		if out, err := c.plane.Kubectl(context.Background(), "", "delete", "-n", controlplane.Namespace, "lease", "usher-controller"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	c.lease(t, wellknown.ControllerLease, "test", time.Now())
	c.lease(t, wellknown.RegistrationLease, "test", time.Now())
	t.Cleanup(func() {
		c.lease(t, wellknown.RegistrationLease, "", time.Now())
		if err := c.plane.UntilRegistered(context.Background(), c.server.URL); err != nil {
			t.Error(err)
		}
	})
	c.apply(t, controlplane.Namespace, templateManifest("side:1"))
}

// call changes how the API server calls usher until the returned function is called.
func (c *testCluster) call(t *testing.T, change func(*admissionregistrationv1.WebhookClientConfig)) (restore func()) {
	t.Helper()
	mutating, validating := c.AdmissionregistrationV1().MutatingWebhookConfigurations(), c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	m, err := mutating.Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := validating.Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(m *admissionregistrationv1.MutatingWebhookConfiguration, v *admissionregistrationv1.ValidatingWebhookConfiguration) {
		nowM, errM := mutating.Get(context.Background(), m.Name, metav1.GetOptions{})
		nowV, errV := validating.Get(context.Background(), v.Name, metav1.GetOptions{})
		if errM != nil || errV != nil {
			t.Error(errM, errV)
			return
		}
		m.ResourceVersion, v.ResourceVersion = nowM.ResourceVersion, nowV.ResourceVersion
		if _, err := mutating.Update(context.Background(), m, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := validating.Update(context.Background(), v, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	}
	changedM, changedV := m.DeepCopy(), v.DeepCopy()
	for i := range changedM.Webhooks {
		change(&changedM.Webhooks[i].ClientConfig)
	}
	for i := range changedV.Webhooks {
		change(&changedV.Webhooks[i].ClientConfig)
	}
	write(changedM, changedV)
	return func() { write(m, v) }
}

// failing makes the API server call a server that answers every review with 500.
func (c *testCluster) failing(t *testing.T) (restore func()) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return c.call(t, func(to *admissionregistrationv1.WebhookClientConfig) { to.URL, to.CABundle = &server.URL, ca })
}

// unguarded runs a kubectl command that usher would deny, while it does not answer,
// and another one when the test ends.
func (c *testCluster) unguarded(t *testing.T, manifest string, do, undo []string) {
	t.Helper()
	restore := c.failing(t)
	defer restore()
	c.until(t, "usher no longer denies it", func() bool {
		_, err := c.plane.Kubectl(t.Context(), manifest, do...)
		return err == nil
	})
	t.Cleanup(func() {
		if out, err := c.plane.Kubectl(context.Background(), manifest, undo...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// statusOf runs usher status and returns the checks that are not ok.
func (c *testCluster) statusOf(t *testing.T, args ...string) (exit int, checks map[string]status.State, text string) {
	t.Helper()
	exit, out, errs := usher(t, "", append([]string{"status", "-o", "json"}, args...)...)
	report := status.Report{}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("exit status %d: %v\n%s%s", exit, err, out, errs)
	}
	checks = map[string]status.State{}
	for _, check := range report.Checks {
		if check.State != status.OK {
			checks[check.Section+"/"+check.Name] = check.State
		}
		if (check.State == status.Failed || check.State == status.Warning) && check.Remedy == "" {
			t.Errorf("%s/%s says not what to do: %s", check.Section, check.Name, check.Message)
		}
	}
	return exit, checks, out
}

// expect waits until usher status reports exactly some checks as not ok.
func (c *testCluster) expect(t *testing.T, want map[string]status.State, exit int, args ...string) (text string) {
	t.Helper()
	var diff string
	var got int
	deadline := time.Now().Add(30 * time.Second)
	for diff == "" || time.Now().Before(deadline) {
		var checks map[string]status.State
		got, checks, text = c.statusOf(t, args...)
		if diff = cmp.Diff(want, checks); diff == "" && got == exit {
			return text
		}
	}
	t.Errorf("exit status %d, want %d; checks (-want +got):\n%s\n%s", got, exit, diff, text)
	return text
}

// expired is the certificate of a CA that ended.
func expired(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "expired"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestStatus_OneThingIsBroken_OnlyThatFails breaks what usher status checks, one
// thing after the other. What depends on it is not ok either.
func TestStatus_OneThingIsBroken_OnlyThatFails(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.installed(t)
	const failed, warning, unknown = status.Failed, status.Warning, status.Unknown
	// No kubelet runs here, so the API server's proxy reaches no replica.
	always := map[string]status.State{"certificates/serving certificate": unknown}
	pods := func(t *testing.T, change func(*corev1.PodStatus)) {
		t.Helper()
		list, err := c.CoreV1().Pods(controlplane.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=webhook"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			before := list.Items[i].Status.DeepCopy()
			write := func(s *corev1.PodStatus) {
				pod, err := c.CoreV1().Pods(controlplane.Namespace).Get(context.Background(), list.Items[i].Name, metav1.GetOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				pod.Status = *s
				if _, err := c.CoreV1().Pods(controlplane.Namespace).UpdateStatus(context.Background(), pod, metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
			}
			changed := before.DeepCopy()
			change(changed)
			write(changed)
			t.Cleanup(func() { write(before) })
		}
	}
	apply, remove := []string{"apply", "-n", controlplane.Namespace, "-f", "-"}, []string{"delete", "-n", controlplane.Namespace, "-f", "-"}
	arguments := []string{"-n", ns, "--kubeconfig", c.kubeconfig}
	c.expect(t, always, cli.Clean, arguments...)
	if _, _, text := c.statusOf(t, "--kubeconfig", c.kubeconfig); !strings.Contains(text, " namespaces enforce invariant") {
		t.Errorf("without -n it does not look at every namespace:\n%s", text)
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T)
		want   map[string]status.State
		says   string
	}{
		{"no replica renews the Lease", func(t *testing.T) {
			c.lease(t, wellknown.RegistrationLease, "test", time.Now().Add(-4*time.Hour))
			t.Cleanup(func() { c.lease(t, wellknown.RegistrationLease, "test", time.Now()) })
		}, map[string]status.State{"registration/confirmed": failed}, "4 hours ago for the last time, by test"},
		{"no controller renews its Lease", func(t *testing.T) {
			c.lease(t, wellknown.ControllerLease, "test", time.Now().Add(-4*time.Hour))
			t.Cleanup(func() { c.lease(t, wellknown.ControllerLease, "test", time.Now()) })
		}, map[string]status.State{"controllers/confirmed": failed}, "no longer renews the Lease usher-controller"},
		{"a webhook configuration is deleted", func(t *testing.T) {
			configurations := c.AdmissionregistrationV1().MutatingWebhookConfigurations()
			config, err := configurations.Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := configurations.Delete(t.Context(), config.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			config.ResourceVersion = ""
			t.Cleanup(func() {
				if _, err := configurations.Create(context.Background(), config, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			})
		}, map[string]status.State{"registration/webhook configurations": failed, "injection/dry run": unknown}, "the MutatingWebhookConfiguration is missing"},
		{"the CA expired", func(t *testing.T) {
			ca := expired(t)
			t.Cleanup(c.call(t, func(to *admissionregistrationv1.WebhookClientConfig) { to.CABundle = ca }))
		}, map[string]status.State{"certificates/CA": failed, "injection/dry run": failed}, "it expired 24 hours ago"},
		{"the webhook answers 500", func(t *testing.T) {
			t.Cleanup(c.failing(t))
		}, map[string]status.State{"injection/dry run": failed}, "asks for the template"},
		{"the configuration is invalid", func(t *testing.T) {
			c.unguarded(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: usher}, data: {config.yaml: "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npolicies: {enforce: Strict}\n"}}`, apply, remove)
		}, map[string]status.State{"configuration/ConfigMap usher": failed}, "invalid, and "},
		{"a template is invalid", func(t *testing.T) {
			c.unguarded(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: broken-initializer}, data: {config: 'containers: 3'}}", apply, remove)
		}, map[string]status.State{"templates/broken": failed}, "invalid, so pods that ask for it are denied"},
		{"a label of a namespace is not a level", func(t *testing.T) {
			c.unguarded(t, "", []string{"label", "namespace", ns, "policy.usher.dev/enforce=Strict"}, []string{"label", "namespace", ns, "policy.usher.dev/enforce-"})
		}, map[string]status.State{"namespaces/labels": failed}, `level \"Strict\" is unknown`},
		{"the API server did not reach usher", func(t *testing.T) {
			c.apply(t, ns, fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: web}, reason: FailedCreate, type: Warning, lastTimestamp: %q,
involvedObject: {kind: Job, name: web, namespace: %s}, message: 'Error creating: Internal error occurred: failed calling webhook "annotated-pods.inject.usher.dev": context deadline exceeded'}`,
				time.Now().UTC().Format(time.RFC3339), ns))
			t.Cleanup(func() {
				if out, err := c.plane.Kubectl(context.Background(), "", "delete", "event", "web", "-n", ns); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}, map[string]status.State{"refused pods/usher not reached": failed}, "could not call usher for pods of job/web in "},
		{"no replica is ready", func(t *testing.T) {
			pods(t, func(s *corev1.PodStatus) { s.Conditions[0].Status = corev1.ConditionFalse })
		}, map[string]status.State{"webhook/replicas": failed}, "0 of 2 of usher-webhook are ready"},
		{"replicas restart", func(t *testing.T) {
			pods(t, func(s *corev1.PodStatus) {
				s.ContainerStatuses = []corev1.ContainerStatus{{Name: "usher", RestartCount: 3, LastTerminationState: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.Now()},
				}}}
			})
		}, map[string]status.State{"webhook/restarts": warning}, "(OOMKilled, exit code 137, 3 restarts)"},
		{"two versions run", func(t *testing.T) {
			manifest := "{apiVersion: v1, kind: Pod, metadata: {name: older, labels: {app.kubernetes.io/component: webhook}}, spec: {containers: [{name: usher, image: 'usher:v0'}]}}"
			c.apply(t, controlplane.Namespace, manifest)
			t.Cleanup(func() {
				if out, err := c.plane.Kubectl(context.Background(), manifest, "delete", "--force", "-n", controlplane.Namespace, "-f", "-"); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}, map[string]status.State{"webhook/version": warning}, "several versions run: usher:v0, usher:v1"},
		{"a pod has an outdated sidecar", func(t *testing.T) {
			const pod = "{apiVersion: v1, kind: Pod, metadata: {name: web, annotations: {inject.usher.dev/side: 'true'}}, spec: {containers: [{name: app, image: app}]}}"
			c.apply(t, ns, pod)
			c.apply(t, controlplane.Namespace, templateManifest("side:2"))
			t.Cleanup(func() {
				if out, err := c.plane.Kubectl(context.Background(), pod, "delete", "--force", "-n", ns, "-f", "-"); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}, map[string]status.State{"templates/side": warning}, "0 pods current, 1 outdated, 0 missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.damage(t)
			want := map[string]status.State{"certificates/serving certificate": unknown}
			exit := cli.Clean
			for name, state := range tt.want {
				if want[name] = state; state == failed {
					exit = cli.Failed
				}
			}
			if text := c.expect(t, want, exit, arguments...); !strings.Contains(text, tt.says) {
				t.Errorf("%q is missing in:\n%s", tt.says, text)
			}
		})
	}
	c.expect(t, always, cli.Clean, arguments...)
	t.Run("a pod is denied", func(t *testing.T) {
		// The controller manager keeps sending Events for a while, so this uses a separate namespace.
		own := c.namespace(t)
		c.apply(t, own, askingDeployment("denied", "", `inject.usher.dev/nowhere: "true"`, ""))
		want := map[string]status.State{"certificates/serving certificate": unknown, "refused pods/denied by usher": warning}
		const says = "usher explain replicaset/denied-"
		if text := c.expect(t, want, cli.Clean, "-n", own, "--kubeconfig", c.kubeconfig); !strings.Contains(text, says) {
			t.Errorf("%q is missing in:\n%s", says, text)
		}
	})
}

// TestStatus_RightsInOneNamespace_SayTheirPart checks as a user who may edit one
// namespace.
func TestStatus_RightsInOneNamespace_SayTheirPart(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	tenant := c.tenant(t, ns, "edit")
	const unknown = status.Unknown
	text := c.expect(t, map[string]status.State{
		"registration/webhook configurations": unknown, "registration/confirmed": unknown, "webhook/replicas": unknown, "certificates/CA": unknown,
		"certificates/serving certificate": unknown, "configuration/ConfigMap usher": unknown, "controllers/replicas": unknown, "templates/templates": unknown,
	}, cli.Clean, "--kubeconfig", tenant)
	for _, want := range []string{
		"you may not list deployments in namespace usher-system", "you may not list mutatingwebhookconfigurations", "none in the last hour in namespace " + ns,
		"1 namespace enforces invariant", "usher answers: it denies a pod in namespace " + ns,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

// TestStatusPre checks a cluster before an installation.
func TestStatusPre(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.expect(t, map[string]status.State{"what is there/usher": status.Warning}, cli.Clean, "--pre", "--kubeconfig", c.kubeconfig)
	t.Run("without rights", func(t *testing.T) {
		text := c.expect(t, map[string]status.State{
			"API server/admission plugins": status.Unknown, "rights/install": status.Failed, "what is there/other webhooks": status.Unknown,
		}, cli.Failed, "--pre", "--kubeconfig", c.tenant(t, ns, "view"))
		if want := "create and patch clusterroles.rbac.authorization.k8s.io, "; !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	})
	t.Run("with a webhook that is gone", func(t *testing.T) {
		const gone = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: gone}, webhooks: [{name: gone.example.com, failurePolicy: Fail,
sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {namespace: nowhere, name: gone}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: elsewhere}},
rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}]}`
		c.apply(t, "default", gone)
		t.Cleanup(func() {
			if out, err := c.plane.Kubectl(context.Background(), gone, "delete", "-f", "-"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		text := c.expect(t, map[string]status.State{"what is there/usher": status.Warning, "what is there/other webhooks": status.Warning}, cli.Clean,
			"--pre", "--usher-namespace", "elsewhere", "--kubeconfig", c.kubeconfig)
		if want := "gone.example.com of gone, Service nowhere/gone"; !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	})
}

// TestStatus_Wait_ChecksUntilNothingFails counts the checks.
func TestStatus_Wait_ChecksUntilNothingFails(t *testing.T) {
	report := func(state status.State) *status.Report {
		return &status.Report{Checks: []status.Check{{Section: "one", Name: "a", State: state}}}
	}
	gone := errors.New("gone")
	ended, end := context.WithCancel(t.Context())
	end()
	for name, tc := range map[string]struct {
		flags  statusFlags
		ctx    context.Context
		states []status.State // of the checks; an empty one is an error
		want   status.State
		err    error
	}{
		"without --wait":      {statusFlags{}, t.Context(), []status.State{status.Failed}, status.Failed, nil},
		"it works at once":    {statusFlags{wait: true, timeout: time.Hour}, t.Context(), []status.State{status.Warning}, status.Warning, nil},
		"it works afterwards": {statusFlags{wait: true, timeout: time.Hour}, t.Context(), []status.State{status.Failed, status.OK}, status.OK, nil},
		"the time is over":    {statusFlags{wait: true}, t.Context(), []status.State{status.Failed}, status.Failed, nil},
		"the cluster is gone": {statusFlags{wait: true, timeout: time.Hour}, t.Context(), []status.State{""}, "", gone},
		"the user ends it":    {statusFlags{wait: true, timeout: time.Hour}, ended, []status.State{status.Failed}, "", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			checks := 0
			got, err := tc.flags.until(tc.ctx, func() (*status.Report, error) {
				checks++
				if state := tc.states[min(checks, len(tc.states))-1]; state != "" {
					return report(state), nil
				}
				return nil, gone
			})
			if !errors.Is(err, tc.err) || checks != len(tc.states) {
				t.Fatalf("after %d checks, want %d: %v, want %v", checks, len(tc.states), err, tc.err)
			}
			if err == nil && got.Checks[0].State != tc.want {
				t.Errorf("got %s, want %s", got.Checks[0].State, tc.want)
			}
		})
	}
}

func TestStatus_NoAnswer_EndsWithUsage(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	kubeconfig := writeFile(t, "config", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: %q}}]}`, dead.URL))
	for _, args := range [][]string{{}, {"--pre"}, {"--pre", "-n", "team"}, {"--pre", "--wait"}, {"-o", "html"}} {
		exit, out, errs := usher(t, "", append([]string{"status", "--kubeconfig", kubeconfig}, args...)...)
		if exit != cli.Usage || out != "" || !strings.HasPrefix(errs, "Error: ") {
			t.Errorf("%v: exit status %d, %s%s", args, exit, out, errs)
		}
	}
	var text bytes.Buffer
	report := status.Report{Checks: []status.Check{
		{Section: "one", Name: "a", State: status.OK, Message: "fine"},
		{Section: "one", Name: "b", State: status.Failed, Message: "broken\x1b[31m", Remedy: "do this\nand that"},
		{Section: "two", Name: "c", State: status.Unknown, Message: "may not"},
	}}
	if err := report.Text(&text, false); err != nil {
		t.Fatal(err)
	}
	const want = "one\n---\n√ a: fine\n× b: broken\uFFFD[31m\n    do this\n    and that\n\ntwo\n---\n? c: may not\n\nOf 3 checks: 1 failed, 1 unknown.\n"
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}
