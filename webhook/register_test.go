package webhook_test

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

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook"
	"github.com/usher-dev/usher/webhook/registration"
)

// rendered returns a configuration's webhooks as stored by the API server.
func (c *cluster) rendered(t *testing.T) (string, int64) {
	t.Helper()
	mutating, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), config.DefaultName, metav1.GetOptions{})
	if err != nil {
		return err.Error(), 0
	}
	validating, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), config.DefaultName, metav1.GetOptions{})
	if err != nil {
		return err.Error(), 0
	}
	text, err := json.MarshalIndent([]any{mutating.Webhooks, validating.Webhooks}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text), mutating.Generation
}

func TestRegistrationIsRepaired(t *testing.T) {
	c := started(t)
	c.until(t, "what other tests registered is gone", func() bool { return len(c.policies(t)) == 4 && !c.lists(t, ".mandatory.usher.dev") })
	want, _ := c.rendered(t)
	mutating, validating := c.AdmissionregistrationV1().MutatingWebhookConfigurations(), c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	patch := func(body string) func() error {
		return func() error {
			_, err := mutating.Patch(t.Context(), config.DefaultName, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "somebody"})
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
			return mutating.Delete(t.Context(), config.DefaultName, metav1.DeleteOptions{})
		},
		"the validating one, deleted": func() error {
			return validating.Delete(t.Context(), config.DefaultName, metav1.DeleteOptions{})
		},
	}
	for name, harm := range tests {
		t.Run(name, func(t *testing.T) {
			before := c.versions(t)
			if err := harm(); err != nil {
				t.Fatal(err)
			}
			if c.versions(t) == before {
				t.Fatal("it did no harm")
			}
			c.until(t, "it is repaired", func() bool { got, _ := c.rendered(t); return got == want })
		})
	}
}

// versions show whether anything was written.
func (c *cluster) versions(t *testing.T) string {
	t.Helper()
	mutating, _ := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), config.DefaultName, metav1.GetOptions{})
	validating, _ := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), config.DefaultName, metav1.GetOptions{})
	return mutating.ResourceVersion + " " + validating.ResourceVersion
}

func (c *cluster) holder(t *testing.T) string {
	t.Helper()
	lease, err := c.CoordinationV1().Leases(ownNamespace).Get(t.Context(), registration.LeaseName, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return holder
}

// replicas creates a Deployment as its controller does, with a ReplicaSet and a
// pod for each revision; the last one is the newest.
func (c *cluster) replicas(t *testing.T, revisions ...string) {
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
	if err := c.plane.Account(ctx, ownNamespace); err != nil {
		t.Fatal(err)
	}
	deployment, err := c.AppsV1().Deployments(ownNamespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "webhook", Annotations: revision(len(revisions))}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: spec},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.AppsV1().Deployments(ownNamespace).Delete(ctx, "webhook", metav1.DeleteOptions{}) })
	for i, name := range revisions {
		set, err := c.AppsV1().ReplicaSets(ownNamespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: revision(i + 1), OwnerReferences: owned("Deployment", deployment)},
			Spec:       appsv1.ReplicaSetSpec{Selector: selector, Template: spec},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owned("ReplicaSet", set)}, Spec: spec.Spec}
		if _, err := c.CoreV1().Pods(ownNamespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.CoreV1().Pods(ownNamespace).Delete(ctx, name, metav1.DeleteOptions{})
			_ = c.AppsV1().ReplicaSets(ownNamespace).Delete(ctx, name, metav1.DeleteOptions{})
		})
	}
}

// down stops usher for the rest of the test.
func (c *cluster) down(t *testing.T) {
	t.Helper()
	if err := shared.server.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.up(t) })
}

func (c *cluster) up(t *testing.T) {
	t.Helper()
	server, err := c.plane.StartReplica(context.Background(), logger(), shortOverlap, c.count)
	if err != nil {
		t.Fatal(err)
	}
	shared.server, c.health = server, server.Health
}

func TestOldAndNewVersionSideBySideChangeTheConfigurationOnce(t *testing.T) {
	c := started(t)
	c.down(t)
	c.replicas(t, "old", "new")
	replica := func(pod string, policy admissionregistrationv1.FailurePolicyType) *controlplane.Usher {
		t.Helper()
		u, err := c.plane.StartUnregistered(context.Background(), logger(), func(o *webhook.Options) {
			o.Pod, o.InjectionFailurePolicy = pod, policy
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = u.Stop() })
		return u
	}
	stop := func(u *controlplane.Usher) {
		t.Helper()
		if err := u.Stop(); err != nil {
			t.Error(err)
		}
	}
	// Only the old version exists, before the new one's ReplicaSet.
	revise := func(revision string) {
		t.Helper()
		patch := []byte(`{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"` + revision + `"}}}`)
		if _, err := c.AppsV1().Deployments(ownNamespace).Patch(t.Context(), "webhook", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	revise("1")
	holder := replica("old", admissionregistrationv1.Ignore)
	if err := c.plane.UntilRegistered(t.Context(), holder); err != nil {
		t.Fatal(err)
	}
	revise("2")
	before := c.versions(t)
	other, newer := replica("old", admissionregistrationv1.Ignore), replica("new", admissionregistrationv1.Fail)
	if c.versions(t) != before || c.holder(t) != "old" {
		t.Fatalf("the configuration changed while %s holds the Lease", c.holder(t))
	}
	_, generation := c.rendered(t)

	stop(holder)
	if err := c.plane.UntilRegistered(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	if got := c.holder(t); got != "new" {
		t.Errorf("%q holds the Lease, which the other old one must not seek", got)
	}
	stop(other)
	after, now := c.rendered(t)
	if now != generation+1 || !strings.Contains(after, `"failurePolicy": "Fail"`) {
		t.Errorf("the configuration changed %d times, want once, to the new version's:\n%s", now-generation, after)
	}
	stop(newer)
	if got := c.holder(t); got != "" {
		t.Errorf("%q holds the Lease after all were stopped", got)
	}
}

func (c *cluster) policies(t *testing.T) map[string]string {
	t.Helper()
	config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), config.DefaultName, metav1.GetOptions{})
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

func TestMandatoryTemplatesFailClosed(t *testing.T) {
	c := started(t)
	c.template(t, "side", small, "")
	c.template(t, "must", "containers: [{name: must, image: 'must:1'}]", "mandatory: true")
	plain := c.newNamespace(t, nil)
	labelled, both := c.newNamespace(t, map[string]string{injector.NamespaceLabel: "side"}), c.newNamespace(t, map[string]string{injector.NamespaceLabel: "side.must"})
	c.until(t, "they are registered apart", func() bool {
		text, _ := c.rendered(t)
		return c.policies(t)["mandatory-annotated-pods"] == "Fail" && strings.Contains(text, `"side.must"`)
	})
	const must = `"inject.usher.dev/must": "true"`
	tests := map[string]struct {
		namespace, annotations string
		up, down               string // the containers, "" if it is refused
	}{
		"who asks for a mandatory template":             {plain, must, "app must", ""},
		"who asks by the old key":                       {plain, `"initializer.kubernetes.io/must": "true"`, "app must", ""},
		"who asks for both":                             {plain, must + "," + asks, "app must side", ""},
		"who asks for another":                          {plain, asks, "app side", "app"},
		"who refuses it":                                {plain, `"inject.usher.dev/must": "false"`, "app", "app"},
		"who asks for nothing":                          {plain, "", "app", "app"},
		"whose namespace asks for it":                   {both, "", "app must side", ""},
		"whose namespace asks, and itself for another":  {both, asks, "app must side", ""},
		"whose namespace asks for another":              {labelled, "", "app side", "app"},
		"who asks where the namespace asks for another": {labelled, must, "app must side", ""},
	}
	try := func(t *testing.T, namespace, annotations, want string) {
		t.Helper()
		got, err := c.CoreV1().Pods(namespace).Create(t.Context(), pod(t, annotations, ""), metav1.CreateOptions{})
		if want == "" {
			if err == nil {
				t.Errorf("it was created: %s", containers(got))
			}
			return
		}
		if err != nil || containers(got) != want {
			t.Errorf("got %s, %v, want %s", containers(got), err, want)
		}
	}
	deploy := func(namespace, annotations string) error {
		_, err := c.AppsV1().Deployments(namespace).Create(t.Context(), deployment(t, annotations), metav1.CreateOptions{})
		return err
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { try(t, tc.namespace, tc.annotations, tc.up) })
	}
	t.Run("while usher is down", func(t *testing.T) {
		c.down(t)
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
	c := started(t)
	t.Run("there is one", func(t *testing.T) {
		c.template(t, "must", small, "mandatory: true")
		c.until(t, "it is registered apart", func() bool { return c.policies(t)["mandatory-labelled-namespaces-workloads"] == "Fail" })
	})
	c.until(t, "its entries are gone", func() bool {
		found := c.policies(t)
		return len(found) == 4 && found["annotated-pods"] == "Ignore"
	})
}

// TestAReplicaThatCannotRegisterSaysSo removes the right to write the webhook
// configurations. The replica stays ready, because it still decides.
func TestAReplicaThatCannotRegisterSaysSo(t *testing.T) {
	c := started(t)
	c.until(t, "it is registered", func() bool { return strings.Contains(c.readyz(t), "[+]registration ok\n") })
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
	c.until(t, "it says that it cannot register", func() bool {
		_ = c.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), config.DefaultName, metav1.DeleteOptions{})
		return strings.Contains(c.readyz(t), `[!]registration failed: applying the MutatingWebhookConfiguration usher: mutatingwebhookconfigurations.admissionregistration.k8s.io "usher" is forbidden`)
	})
	giveBack()
	c.until(t, "it registers again", func() bool { return strings.Contains(c.readyz(t), "[+]registration ok\n") })
}
