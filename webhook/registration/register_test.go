package registration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/webhook"
	"github.com/usher-dev/usher/webhook/registration"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

func TestRegistrationIsRepaired(t *testing.T) {
	c := webhooktest.Started(t)
	c.Until(t, "what other tests registered is gone", func() bool { return len(c.Policies(t)) == 4 && !c.Lists(t, ".mandatory.usher.dev") })
	want, _ := c.Rendered(t)
	mutating, validating := c.AdmissionregistrationV1().MutatingWebhookConfigurations(), c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	patch := func(body string) func() error {
		return func() error {
			_, err := mutating.Patch(t.Context(), wellknown.DefaultConfigurationName, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "somebody"})
			return err
		}
	}
	const entry = `{"webhooks": [{"name": "annotated-pods.inject.usher.dev", %s}]}`
	tests := map[string]func() error{
		"a failurePolicy that was edited":  patch(fmt.Sprintf(entry, `"failurePolicy": "Fail"`)),
		"an objectSelector that was added": patch(fmt.Sprintf(entry, `"objectSelector": {"matchLabels": {"a": "b"}}`)),
		"a namespace that was let out":     patch(fmt.Sprintf(entry, `"namespaceSelector": {"matchLabels": {"a": "b"}}`)),
		"a condition that was added":       patch(fmt.Sprintf(entry, `"matchConditions": [{"name": "never", "expression": "false"}]`)),
		"a webhook that was added": patch(`{"webhooks": [{"name": "x.example.com", "sideEffects": "None", "failurePolicy": "Ignore", ` +
			`"admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/x"}}]}`),
		"a webhook that was removed": patch(`{"webhooks": [{"name": "annotated-pods.inject.usher.dev", "$patch": "delete"}]}`),
		"no webhooks at all":         patch(`{"webhooks": null}`),
		"the mutating one, deleted": func() error {
			return mutating.Delete(t.Context(), wellknown.DefaultConfigurationName, metav1.DeleteOptions{})
		},
		"the validating one, deleted": func() error {
			return validating.Delete(t.Context(), wellknown.DefaultConfigurationName, metav1.DeleteOptions{})
		},
	}
	for name, harm := range tests {
		t.Run(name, func(t *testing.T) {
			before := versions(t, c)
			if err := harm(); err != nil {
				t.Fatal(err)
			}
			if versions(t, c) == before {
				t.Fatal("it did no harm")
			}
			c.Until(t, "it is repaired", func() bool { got, _ := c.Rendered(t); return got == want })
		})
	}
}

// versions show whether anything was written.
func versions(t *testing.T, c *webhooktest.Cluster) string {
	t.Helper()
	mutating, _ := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	validating, _ := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	return mutating.ResourceVersion + " " + validating.ResourceVersion
}

func leaseHolder(t *testing.T, c *webhooktest.Cluster) string {
	t.Helper()
	lease, err := c.CoordinationV1().Leases(controlplane.Namespace).Get(t.Context(), registration.LeaseName, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return holder
}

// replicas creates a Deployment as its controller does, with a ReplicaSet and a
// pod for each revision; the last one is the newest.
func replicas(t *testing.T, c *webhooktest.Cluster, revisions ...string) {
	t.Helper()
	ctx := context.Background()
	spec := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "usher", Image: "usher"}}}}
	selector := &metav1.LabelSelector{MatchLabels: spec.Labels}
	revision := func(n int) map[string]string {
		return map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(n)}
	}
	owned := func(kind string, owner metav1.Object) []metav1.OwnerReference {
		return []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))}
	}
	if err := c.Plane.Account(ctx, controlplane.Namespace); err != nil {
		t.Fatal(err)
	}
	deployment, err := c.AppsV1().Deployments(controlplane.Namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "webhook", Annotations: revision(len(revisions))}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: spec},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.AppsV1().Deployments(controlplane.Namespace).Delete(ctx, "webhook", metav1.DeleteOptions{})
	})
	for i, name := range revisions {
		set, err := c.AppsV1().ReplicaSets(controlplane.Namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: revision(i + 1), OwnerReferences: owned("Deployment", deployment)},
			Spec:       appsv1.ReplicaSetSpec{Selector: selector, Template: spec},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owned("ReplicaSet", set)}, Spec: spec.Spec}
		if _, err := c.CoreV1().Pods(controlplane.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.CoreV1().Pods(controlplane.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
			_ = c.AppsV1().ReplicaSets(controlplane.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		})
	}
}

func TestOldAndNewVersionSideBySideChangeTheConfigurationOnce(t *testing.T) {
	c := webhooktest.Started(t)
	c.Down(t)
	replicas(t, c, "old", "new")
	replica := func(pod string, policy admissionregistrationv1.FailurePolicyType) *usherwebhook.Server {
		t.Helper()
		u, err := usherwebhook.StartUnregistered(context.Background(), c.Plane, webhooktest.Logger(), func(o *webhook.Options) {
			o.Pod, o.InjectionFailurePolicy = pod, policy
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = u.Stop() })
		return u
	}
	stop := func(u *usherwebhook.Server) {
		t.Helper()
		if err := u.Stop(); err != nil {
			t.Error(err)
		}
	}
	// Only the old version exists, before the new one's ReplicaSet.
	revise := func(revision string) {
		t.Helper()
		patch := []byte(`{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"` + revision + `"}}}`)
		if _, err := c.AppsV1().Deployments(controlplane.Namespace).Patch(t.Context(), "webhook", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	revise("1")
	holder := replica("old", admissionregistrationv1.Ignore)
	if err := c.Plane.UntilRegistered(t.Context(), holder.URL); err != nil {
		t.Fatal(err)
	}
	revise("2")
	before := versions(t, c)
	other, newer := replica("old", admissionregistrationv1.Ignore), replica("new", admissionregistrationv1.Fail)
	if versions(t, c) != before || leaseHolder(t, c) != "old" {
		t.Fatalf("the configuration changed while %s holds the Lease", leaseHolder(t, c))
	}
	_, generation := c.Rendered(t)

	stop(holder)
	if err := c.Plane.UntilRegistered(t.Context(), newer.URL); err != nil {
		t.Fatal(err)
	}
	if got := leaseHolder(t, c); got != "new" {
		t.Errorf("%q holds the Lease, which the other old one must not seek", got)
	}
	stop(other)
	after, now := c.Rendered(t)
	if now != generation+1 || !strings.Contains(after, `"failurePolicy": "Fail"`) {
		t.Errorf("the configuration changed %d times, want once, to the new version's:\n%s", now-generation, after)
	}
	stop(newer)
	if got := leaseHolder(t, c); got != "" {
		t.Errorf("%q holds the Lease after all were stopped", got)
	}
}

func TestMandatoryTemplatesFailClosed(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	c.Template(t, "must", "containers: [{name: must, image: 'must:1'}]", "mandatory: true")
	plain := c.NewNamespace(t, nil)
	labelled, both := c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "side"}), c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "side.must"})
	c.Until(t, "they are registered apart", func() bool {
		text, _ := c.Rendered(t)
		return c.Policies(t)["mandatory-annotated-pods"] == "Fail" && strings.Contains(text, `"side.must"`)
	})
	const must = `"inject.usher.dev/must": "true"`
	tests := map[string]struct {
		namespace, annotations string
		up, down               string // the containers, "" if it is refused
	}{
		"who asks for a mandatory template":             {plain, must, "app must", ""},
		"who asks by the old key":                       {plain, `"initializer.kubernetes.io/must": "true"`, "app must", ""},
		"who asks for both":                             {plain, must + "," + webhooktest.Asks, "app must side", ""},
		"who asks for another":                          {plain, webhooktest.Asks, "app side", "app"},
		"who refuses it":                                {plain, `"inject.usher.dev/must": "false"`, "app", "app"},
		"who asks for nothing":                          {plain, "", "app", "app"},
		"whose namespace asks for it":                   {both, "", "app must side", ""},
		"whose namespace asks, and itself for another":  {both, webhooktest.Asks, "app must side", ""},
		"whose namespace asks for another":              {labelled, "", "app side", "app"},
		"who asks where the namespace asks for another": {labelled, must, "app must side", ""},
	}
	try := func(t *testing.T, namespace, annotations, want string) {
		t.Helper()
		got, err := c.CoreV1().Pods(namespace).Create(t.Context(), webhooktest.Pod(t, annotations, ""), metav1.CreateOptions{})
		if want == "" {
			if err == nil {
				t.Errorf("it was created: %s", webhooktest.Containers(got))
			}
			return
		}
		if err != nil || webhooktest.Containers(got) != want {
			t.Errorf("got %s, %v, want %s", webhooktest.Containers(got), err, want)
		}
	}
	deploy := func(namespace, annotations string) error {
		_, err := c.AppsV1().Deployments(namespace).Create(t.Context(), webhooktest.Deployment(t, annotations), metav1.CreateOptions{})
		return err
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { try(t, tc.namespace, tc.annotations, tc.up) })
	}
	t.Run("while usher is down", func(t *testing.T) {
		c.Down(t)
		for name, tc := range tests {
			t.Run(name, func(t *testing.T) {
				try(t, tc.namespace, tc.annotations, tc.down)
				if err := deploy(tc.namespace, tc.annotations); (err != nil) != (tc.down == "") {
					t.Errorf("a Deployment: %v", err)
				}
			})
		}
	})
}

func TestEntriesOfMandatoryTemplatesGoWithThem(t *testing.T) {
	c := webhooktest.Started(t)
	t.Run("there is one", func(t *testing.T) {
		c.Template(t, "must", webhooktest.Small, "mandatory: true")
		c.Until(t, "it is registered apart", func() bool { return c.Policies(t)["mandatory-labelled-namespaces-workloads"] == "Fail" })
	})
	c.Until(t, "its entries are gone", func() bool {
		found := c.Policies(t)
		return len(found) == 4 && found["annotated-pods"] == "Ignore"
	})
}

// TestAReplicaThatCannotRegisterSaysSo removes the right to write the webhook
// configurations. The replica stays ready, because it still decides.
func TestAReplicaThatCannotRegisterSaysSo(t *testing.T) {
	c := webhooktest.Started(t)
	c.Until(t, "it is registered", func() bool { return strings.Contains(c.Readyz(t), "[+]registration ok\n") })
	roles := c.RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), "usher-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := json.Marshal(map[string]any{"rules": role.Rules})
	if err != nil {
		t.Fatal(err)
	}
	giveBack := func() {
		if _, err := roles.Patch(context.Background(), role.Name, types.MergePatchType, rules, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(giveBack)
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "admissionregistration.k8s.io") })
	if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Until the API server knows about the removed right, the replica restores the
	// configuration.
	c.Until(t, "it says that it cannot register", func() bool {
		_ = c.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), wellknown.DefaultConfigurationName, metav1.DeleteOptions{})
		return strings.Contains(c.Readyz(t), `[!]registration failed: applying the MutatingWebhookConfiguration usher: mutatingwebhookconfigurations.admissionregistration.k8s.io "usher" is forbidden`)
	})
	giveBack()
	c.Until(t, "it registers again", func() bool { return strings.Contains(c.Readyz(t), "[+]registration ok\n") })
}
