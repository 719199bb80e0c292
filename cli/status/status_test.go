package status

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector/decision"
)

var now = time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)

// says compares a check with a state and a part of its message.
func says(t *testing.T, check Check, state State, message string) {
	t.Helper()
	if check.State != state || !strings.Contains(check.Message, message) {
		t.Errorf("%s: %s, want %s: %s", check.State, check.Message, state, message)
	}
	if state == Failed && check.Remedy == "" {
		t.Errorf("%s: no remedy", check.Message)
	}
}

func pointer[T any](v T) *T { return &v }

func TestHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		holder  string
		age     time.Duration
		state   State
		message string
	}{
		"renewed":                  {"usher-webhook-1_uuid", 3 * time.Second, OK, "3 seconds ago by usher-webhook-1"},
		"of a clock that is ahead": {"usher-webhook-1_uuid", -3 * time.Second, OK, "0 seconds ago by usher-webhook-1"},
		"three durations old":      {"usher-webhook-1_uuid", 45 * time.Second, OK, "45 seconds ago by usher-webhook-1"},
		"older":                    {"usher-webhook-1_uuid", 46 * time.Second, Failed, "46 seconds ago for the last time, by usher-webhook-1, which no longer renews the Lease usher-registration"},
		"released":                 {"", time.Second, Warning, "no replica holds the Lease usher-registration, which was released 1 second ago"},
		"released long ago":        {"", time.Hour, Failed, "60 minutes ago for the last time, by nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			state, message := held(&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: wellknown.RegistrationLease},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &tt.holder, LeaseDurationSeconds: pointer(int32(15)), RenewTime: &metav1.MicroTime{Time: now.Add(-tt.age)}},
			}, now)
			if state != tt.state || !strings.HasPrefix(message, tt.message) {
				t.Errorf("%s: %s, want %s: %s", state, message, tt.state, tt.message)
			}
		})
	}
	if state, _ := held(&coordinationv1.Lease{}, now); state != Failed {
		t.Errorf("never renewed: %s", state)
	}
}

func TestRegistered(t *testing.T) {
	meta := func(name, own string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{wellknown.LabelManagedBy: wellknown.Usher, wellknown.LabelNamespace: own}}
	}
	all := &configurations{
		mutating: []admissionregistrationv1.MutatingWebhookConfiguration{
			{ObjectMeta: meta("usher", "usher-system"), Webhooks: make([]admissionregistrationv1.MutatingWebhook, 2)},
			{ObjectMeta: meta("two", "usher-two")},
			{ObjectMeta: metav1.ObjectMeta{Name: "istio"}},
		},
		validating: []admissionregistrationv1.ValidatingWebhookConfiguration{
			{ObjectMeta: meta("usher", "usher-system"), Webhooks: make([]admissionregistrationv1.ValidatingWebhook, 1)},
		},
	}
	check := func(own string) Check {
		ours, others := all.belongs(own)
		return registered(own, ours, others, "logs")
	}
	says(t, check("usher-system"), OK, "3 webhooks in usher; the cluster has another installation in usher-two")
	says(t, check("usher-two"), Failed, "the ValidatingWebhookConfiguration is missing; the cluster has another installation in usher-system")
	says(t, check("nowhere"), Failed, "the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration are missing")
	if remedy := check("nowhere").Remedy; !strings.Contains(remedy, "--usher-namespace usher-system") {
		t.Errorf("remedy %q", remedy)
	}
}

func TestServiceEndpoints(t *testing.T) {
	endpoint := func(ready *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: ready}}
	}
	yes, no := true, false
	says(t, serviceEndpoints("usher-system", "usher", nil), Failed, "usher-system/usher has no ready endpoint of 0")
	says(t, serviceEndpoints("usher-system", "usher", []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{endpoint(&no)}}}), Failed, "has no ready endpoint of 1")
	says(t, serviceEndpoints("usher-system", "usher", []discoveryv1.EndpointSlice{
		{Endpoints: []discoveryv1.Endpoint{endpoint(&no), endpoint(&yes)}}, {Endpoints: []discoveryv1.Endpoint{endpoint(nil)}},
	}), OK, "usher-system/usher has 2 ready endpoints")
}

// authority is a certificate that is valid for some time around now.
func authority(t *testing.T, before, after time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-before), NotAfter: now.Add(after)}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestAuthorities(t *testing.T) {
	const day = 24 * time.Hour
	fresh, late, gone, early := authority(t, 65*day, 300*day), authority(t, 300*day, 65*day), authority(t, 366*day, -day), authority(t, -day, 300*day)
	for name, tt := range map[string]struct {
		bundles [][]byte
		state   State
		message string
	}{
		"a CA":                             {[][]byte{fresh, fresh}, OK, "300 days left"},
		"the API server's own":             {[][]byte{nil}, OK, "the API server's own CAs count"},
		"less than a fifth":                {[][]byte{late}, Warning, "65 days left"},
		"expired":                          {[][]byte{gone}, Failed, "it expired 24 hours ago"},
		"not valid yet":                    {[][]byte{early}, Failed, "valid only from 2026-05-05T12:00:00Z"},
		"an old CA next to its successor":  {[][]byte{append(append([]byte{}, gone...), fresh...)}, OK, "300 days left"},
		"one webhook of several":           {[][]byte{fresh, gone, fresh}, Failed, "it expired"},
		"a bundle that is not certificate": {[][]byte{fresh, []byte("none")}, Failed, "contains no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			check := authorities(tt.bundles, now)
			check.Remedy = "the caller's"
			says(t, check, tt.state, tt.message)
		})
	}
}

func TestExpiry(t *testing.T) {
	for metrics, want := range map[string]time.Duration{
		"usher_up 1\nusher_certificate_expiry_seconds{what=\"ca\"} 1\nusher_certificate_expiry_seconds{what=\"serving\"} 7.2e+06\n": 2000 * time.Hour,
		"usher_certificate_expiry_seconds{what=\"serving\"} -60\n":                                                                  -time.Minute,
		"usher_certificate_expiry_seconds{what=\"serving\"} soon\n":                                                                 0,
		"": 0,
	} {
		got, ok := expiry([]byte(metrics))
		if got != want || ok != (want != 0) {
			t.Errorf("%q: %s, %v", metrics, got, ok)
		}
	}
	for remaining, want := range map[time.Duration]State{-time.Second: Failed, 6 * 24 * time.Hour: Warning, 8 * 24 * time.Hour: OK} {
		if state, _ := left(remaining, 0); state != want {
			t.Errorf("%s: %s", remaining, state)
		}
	}
}

func TestReady(t *testing.T) {
	for _, tt := range []struct {
		ready, want int32
		state       State
	}{{2, 2, OK}, {1, 2, Warning}, {0, 2, Failed}, {0, 0, Failed}, {3, 2, OK}} {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &tt.want}, Status: appsv1.DeploymentStatus{ReadyReplicas: tt.ready}}
		if check := ready(d); check.State != tt.state {
			t.Errorf("%d of %d: %s", tt.ready, tt.want, check.State)
		}
	}
}

func TestRefusals(t *testing.T) {
	const denied, unreachable = `Error creating: admission webhook "annotated-pods.inject.usher.dev" denied the request: template-not-found: no such template`,
		`Error creating: Internal error occurred: failed calling webhook "annotated-pods.inject.usher.dev": connection refused`
	event := func(owner, message string, age time.Duration) corev1.Event {
		return corev1.Event{
			Reason: "FailedCreate", Message: message, Count: 3, LastTimestamp: metav1.NewTime(now.Add(-age)),
			InvolvedObject: corev1.ObjectReference{Kind: "ReplicaSet", Namespace: "team", Name: owner},
		}
	}
	series := event("series", denied, 3*time.Hour)
	series.Series = &corev1.EventSeries{Count: 9, LastObservedTime: metav1.NewMicroTime(now.Add(-time.Minute))}
	for name, tt := range map[string]struct {
		events []corev1.Event
		want   []refusal
	}{
		"a denial":         {[]corev1.Event{event("web", denied, time.Minute)}, []refusal{{"team", "replicaset/web", "template-not-found: no such template", false, 3}}},
		"the same again":   {[]corev1.Event{event("web", denied, time.Minute), event("web", denied, time.Second)}, []refusal{{"team", "replicaset/web", "template-not-found: no such template", false, 6}}},
		"not reached":      {[]corev1.Event{event("web", unreachable, time.Minute)}, []refusal{{"team", "replicaset/web", `"annotated-pods.inject.usher.dev": connection refused`, true, 3}}},
		"older":            {[]corev1.Event{event("web", denied, 61*time.Minute)}, nil},
		"a long series":    {[]corev1.Event{series}, []refusal{{"team", "replicaset/series", "template-not-found: no such template", false, 9}}},
		"another webhook":  {[]corev1.Event{event("web", strings.ReplaceAll(denied, "usher.dev", "example.com"), time.Minute)}, nil},
		"a quota":          {[]corev1.Event{event("web", `pods "web" is forbidden: exceeded quota`, time.Minute)}, nil},
		"a name as a hint": {[]corev1.Event{event("web", `admission webhook "a.example.com" denied the request: ask "b.usher.dev"`, time.Minute)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, refusalsOf(tt.events, now), cmp.AllowUnexported(refusal{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	var many []corev1.Event
	for n := range 7 {
		many = append(many, event(fmt.Sprint("web-", n), denied, time.Minute))
	}
	checks := refusalChecks(refusalsOf(append(many, event("job", unreachable, 0)), now), "all namespaces", "logs", false)
	says(t, checks[0], Warning, "21 attempts in the last hour: replicaset/web-0 in team (template-not-found: no such template)")
	says(t, checks[0], Warning, " and 2 more")
	says(t, checks[1], Failed, "could not call usher for pods of replicaset/job in team")
	if !strings.HasPrefix(checks[0].Remedy, "usher explain replicaset/web-0 -n team\n") {
		t.Errorf("remedy %q", checks[0].Remedy)
	}
}

func TestLevels(t *testing.T) {
	namespace := func(name string, labels map[string]string) corev1.Namespace {
		return corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	served, err := labels.Parse("tenant!=no")
	if err != nil {
		t.Fatal(err)
	}
	checks := levelChecks([]corev1.Namespace{
		namespace("kube-system", nil), namespace("usher-system", nil), namespace("left", map[string]string{"tenant": "no"}), namespace("a", nil),
		namespace("b", map[string]string{wellknown.LabelEnforce: "strict"}), namespace("c", map[string]string{wellknown.LabelEnforce: "off"}),
	}, decision.Scope{ReleaseNamespace: "usher-system", Selector: served}, config.Default().Policies)
	says(t, checks[0], OK, "1 namespace enforces strict, 1 namespace enforces invariant, 1 namespace enforces off, usher does not serve 3")
	says(t, checks[1], OK, "all values are valid")
	checks = levelChecks([]corev1.Namespace{namespace("a", map[string]string{wellknown.LabelWarn: "high"})}, decision.Scope{}, config.Default().Policies)
	says(t, checks[1], Failed, `namespace a: label policy.usher.dev/warn: level "high" is unknown: write invariant`)
}

func TestAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		err     string
		state   State
		message string
	}{
		"usher denies":          {`admission webhook "annotated-pods.inject.usher.dev" denied the request: template-not-found`, OK, "usher answers"},
		"another webhook":       {`admission webhook "a.example.com" denied the request: no`, Failed, "refuses a pod in namespace team"},
		"usher is not reached":  {`failed calling webhook "annotated-pods.inject.usher.dev": refused`, Failed, "refuses a pod in namespace team"},
		"the server admits all": {"", Failed, "the API server did not call usher"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if tt.err != "" {
				err = errors.New(tt.err)
			}
			check := answered("team", "logs", err)
			says(t, check, tt.state, tt.message)
		})
	}
}

func TestServerVersion(t *testing.T) {
	for version, state := range map[string]State{"v1.29.9": Failed, "v1.30.0": OK, "v1.37.2-eks-1": OK, "v1.38.0-alpha.1": Warning, "v2.0.0": Warning, "dev": Unknown} {
		if check := serverVersion(version); check.State != state {
			t.Errorf("%s: %s: %s", version, check.State, check.Message)
		}
	}
}

func TestPlugins(t *testing.T) {
	line := func(name string) string {
		return fmt.Sprintf("apiserver_admission_controller_admission_duration_seconds_count{name=%q,operation=\"CREATE\",rejected=\"false\",type=\"admit\"} 7\n", name)
	}
	says(t, pluginsIn(line("MutatingAdmissionWebhook")+"up 1\n"+line("ValidatingAdmissionWebhook")), OK, "are enabled")
	says(t, pluginsIn(line("MutatingAdmissionWebhook")+line("PodSecurity")), Failed, "does not run ValidatingAdmissionWebhook, so")
	says(t, pluginsIn("up 1\n"), Unknown, "do not name them")
}

func TestOtherWebhooks(t *testing.T) {
	rule := func(group, resource string) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, Resources: []string{resource}}}}
	}
	gone := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "gone", Name: "gone"}}
	there := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "there", Name: "there"}}
	apart := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"usher-system"}}}}
	missing := func(namespace, _ string) bool { return namespace == "gone" }
	const ignore, fail = admissionregistrationv1.Ignore, admissionregistrationv1.Fail
	for name, tt := range map[string]struct {
		webhook webhook
		state   State
		message string
	}{
		"of Services":              {webhook{"a", "c", rule("", "services"), fail, gone, nil}, OK, "none sees pods or workloads"},
		"of pods, open":            {webhook{"a", "c", rule("", "pods"), ignore, gone, nil}, OK, "1 webhook for pods or workloads: a (Ignore)"},
		"of everything, reachable": {webhook{"a", "c", rule("*", "*/*"), fail, there, nil}, OK, "a (Fail)"},
		"of Deployments, gone":     {webhook{"a", "c", rule("apps", "deployments"), fail, gone, nil}, Warning, "it cannot call a of c, Service gone/gone"},
		"of other namespaces":      {webhook{"a", "c", rule("", "pods"), fail, gone, apart}, OK, "a (Fail)"},
		"of pods of another group": {webhook{"a", "c", rule("metrics.k8s.io", "pods"), fail, gone, nil}, OK, "none sees"},
	} {
		t.Run(name, func(t *testing.T) {
			says(t, otherWebhooks("usher-system", []webhook{tt.webhook}, missing), tt.state, tt.message)
		})
	}
}
