package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

func TestRulesAreEnforcedAsLabelled(t *testing.T) {
	c := webhooktest.Started(t)
	never := `schedule: "0 0 31 2 *"`                           // invariant
	hangs := `schedule: "0 0 * * *", concurrencyPolicy: Forbid` // baseline
	tests := map[string]struct {
		level, spec     string
		denied, warning string
	}{
		"what cannot work is denied at invariant":        {level: "invariant", spec: never, denied: "cronjob-impossible: spec.schedule"},
		"what will hurt is warned of at invariant":       {level: "invariant", spec: hangs, warning: "cronjob-forbid-hang: spec."},
		"what will hurt is denied at baseline":           {level: "baseline", spec: hangs, denied: "cronjob-forbid-hang: spec."},
		"off denies nothing, and warns where it is told": {level: "off", spec: never, warning: "cronjob-impossible: spec.schedule"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ns := c.Enforced(t, tc.level)
			c.Warnings.Take()
			_, err := c.BatchV1().CronJobs(ns).Create(t.Context(), webhooktest.CronJob(t, tc.spec), metav1.CreateOptions{})
			if tc.denied != "" {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied) {
					t.Errorf("got %v, want a denial with %q", err, tc.denied)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := c.Warnings.Take(); !strings.Contains(text, tc.warning) {
				t.Errorf("warnings %q, want %q", text, tc.warning)
			}
		})
	}
}

func TestDefaultsEnforceOnlyInvariants(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	if _, err := c.BatchV1().CronJobs(ns).Create(t.Context(), webhooktest.CronJob(t, `schedule: "0 0 31 2 *"`), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want a denial", err)
	}
	c.Warnings.Take()
	if _, err := c.BatchV1().CronJobs(ns).Create(t.Context(), webhooktest.CronJob(t, `schedule: "0 0 * * *", concurrencyPolicy: Forbid`), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if text := c.Warnings.Take(); !strings.Contains(text, "cronjob-forbid-hang") {
		t.Errorf("warnings %q", text)
	}
}

func TestOnlyWhatAChangeBringsIsDenied(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "off"})
	job, err := c.BatchV1().CronJobs(ns).Create(t.Context(), webhooktest.CronJob(t, `schedule: "0 0 * * *", concurrencyPolicy: Forbid`), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Warnings.Take()
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(`{"metadata":{"labels":{"policy.usher.dev/enforce":"baseline"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := c.Warnings.Take(); !strings.Contains(text, `existing workloads would be denied at level "baseline": 1 of 1`) || !strings.Contains(text, "would be denied by cronjob-forbid-hang: 1") || strings.Contains(text, job.Name) {
		t.Errorf("labelling the namespace warned %q", text)
	}
	patch := func(body string) error {
		_, err := c.BatchV1().CronJobs(ns).Patch(t.Context(), job.Name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	// The level may take a moment to reach the API server's selectors.
	minute := 0
	c.Until(t, "what was there before warns", func() bool {
		c.Warnings.Take()
		minute = (minute + 1) % 60
		if err := patch(fmt.Sprintf(`{"spec":{"schedule":"%d 0 * * *"}}`, minute)); err != nil {
			t.Fatalf("an old finding denied the change: %v", err)
		}
		return strings.Contains(c.Warnings.Take(), "cronjob-forbid-hang")
	})
	if err := patch(`{"spec":{"startingDeadlineSeconds":0}}`); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cronjob-deadline-zero") {
		t.Errorf("got %v, want a denial of what the change brings", err)
	}
	c.Warnings.Take()
	if err := patch(`{"metadata":{"labels":{"a":"b"}}}`); err != nil {
		t.Error(err)
	}
	if text := c.Warnings.Take(); text != "" {
		t.Errorf("a change that leaves the spec was sent: %q", text)
	}
}

// TestOwnerReferences_ExemptOnlyWhatAControllerMakes: an UPDATE may keep an old
// finding, and then the resulting Jobs and ReplicaSets must not be denied for
// it. However, anyone can write an owner reference.
func TestOwnerReferences_ExemptOnlyWhatAControllerMakes(t *testing.T) {
	c := webhooktest.Started(t)
	enforced := c.Enforced(t, "baseline")
	pinned := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "baseline", wellknown.LabelEnforceVersion: "v0.1"})
	const noOwner = ""
	owned := func(apiVersion, kind string) string {
		return `,"ownerReferences":[{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","name":"o","uid":"1","controller":true}]`
	}
	byCronJob, byPipeline := owned("batch/v1", "CronJob"), owned("example.com/v1", "Pipeline")
	tests := map[string]struct {
		namespace, user, owner string
		denied                 bool
	}{
		"no owner":                                  {enforced, "", noOwner, true},
		"a forged owner":                            {enforced, "", byCronJob, true},
		"a forged owner, by a ServiceAccount":       {enforced, "system:serviceaccount:" + enforced + ":cronjob-controller", byCronJob, true},
		"a CronJob's, by its controller":            {enforced, "system:serviceaccount:kube-system:cronjob-controller", byCronJob, false},
		"a CronJob's, by the controller manager":    {enforced, "system:kube-controller-manager", byCronJob, false},
		"no owner, by a controller":                 {enforced, "system:serviceaccount:kube-system:cronjob-controller", noOwner, true},
		"one that nobody judges":                    {enforced, "system:serviceaccount:kube-system:job-controller", byPipeline, true},
		"no owner, pinned to v0.1":                  {pinned, "", noOwner, true},
		"a forged owner, pinned to v0.1":            {pinned, "", byCronJob, false},
		"an owner that nobody judges, pinned to it": {pinned, "", byPipeline, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			as := rest.CopyConfig(c.Plane.Config)
			if tc.user != "" {
				as.Impersonate = rest.ImpersonationConfig{UserName: tc.user, Groups: []string{"system:masters"}}
			}
			clients, err := kubernetes.NewForConfig(as)
			if err != nil {
				t.Fatal(err)
			}
			object := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"j-"` + tc.owner + `},"spec":{"parallelism":0,"backoffLimit":1,` +
				`"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a"}]}}}}`
			err = clients.BatchV1().RESTClient().Post().Namespace(tc.namespace).Resource("jobs").SetHeader("Content-Type", "application/json").
				Body([]byte(object)).Do(t.Context()).Error()
			switch {
			case tc.denied && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "job-zero-work")):
				t.Errorf("got %v, want a denial", err)
			case !tc.denied && err != nil:
				t.Error(err)
			}
		})
	}
}

func TestALabelWithAValueItCannotHaveIsDenied(t *testing.T) {
	c := webhooktest.Started(t)
	for key, tc := range map[string]struct{ value, want string }{
		wellknown.LabelAudit:                 {"", "write invariant, baseline, strict or off"},
		wellknown.LabelEnforce:               {"strictest", "write invariant, baseline, strict or off"},
		wellknown.LabelDefaultServiceAccount: {"admin", `"admin" is not a ClusterRole that usher binds: write view`},
	} {
		_, err := c.CoreV1().Namespaces().Create(t.Context(), webhooktest.Namespace("mislabelled", map[string]string{key: tc.value}), metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "metadata.labels["+key+"]") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want a denial that says %s", err, tc.want)
		}
	}
}

func TestChangesAreJudgedByTheTransitionTable(t *testing.T) {
	c := webhooktest.Started(t)
	d := webhooktest.Deployment(t, "")
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant", wellknown.LabelWarn: "strict"})
	d, err := c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Warnings.Take()
	if _, err := c.AppsV1().Deployments(ns).Patch(t.Context(), d.Name, types.MergePatchType, []byte(`{"spec":{"revisionHistoryLimit":0}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := c.Warnings.Take(); !strings.Contains(text, "irreversible") {
		t.Errorf("warnings %q, want what is lost", text)
	}
}

func TestScaleIsJudgedWithItsWorkload(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant", wellknown.LabelWarn: "strict"})
	replicas := int32(2)
	d := webhooktest.Deployment(t, "")
	d.Spec.Replicas = &replicas
	d, err := c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Warnings.Take()
	if _, err := c.AppsV1().Deployments(ns).Patch(t.Context(), d.Name, types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	byScale := c.Warnings.Take()
	if _, err := c.AppsV1().Deployments(ns).Patch(t.Context(), d.Name, types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Warnings.Take()
	if _, err := c.AppsV1().Deployments(ns).Patch(t.Context(), d.Name, types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if byEdit := c.Warnings.Take(); byScale != byEdit {
		t.Errorf("kubectl scale warns\n%s\nand an edit\n%s", byScale, byEdit)
	}
}

func TestCrossObjectRulesLookAtTheNamespace(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.Enforced(t, "baseline")
	statefulSet := func(service string) error {
		object := `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"generateName":"s-"},"spec":{"serviceName":"` + service + `","selector":{"matchLabels":{"s":"` + service + `"}},` +
			`"template":{"metadata":{"labels":{"s":"` + service + `"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`
		return c.AppsV1().RESTClient().Post().Namespace(ns).Resource("statefulsets").SetHeader("Content-Type", "application/json").Body([]byte(object)).Do(t.Context()).Error()
	}
	if err := statefulSet("db"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "sts-headless") {
		t.Errorf("got %v, want a denial: the Service does not exist", err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"s": "db"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.CoreV1().Services(ns).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := statefulSet("db"); err != nil {
		t.Errorf("with its headless Service: %v", err)
	}
}

func TestConfigurationIsReadFromTheConfigMap(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	put := func(text string) {
		t.Helper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "usher"}, Data: map[string]string{"config.yaml": text}}
		api := c.CoreV1().ConfigMaps(controlplane.Namespace)
		_, err := api.Create(t.Context(), cm, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = api.Update(t.Context(), cm, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_ = c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), "usher", metav1.DeleteOptions{})
	})
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	hangs := webhooktest.CronJob(t, `schedule: "0 0 * * *", concurrencyPolicy: Forbid`)
	put("{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, policies: {enforce: baseline}}")
	c.Until(t, "baseline is enforced by default", func() bool {
		_, err := c.BatchV1().CronJobs(ns).Create(t.Context(), hangs, dryRun)
		return apierrors.IsForbidden(err)
	})
	put("{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, policies: {enforce: baseline, exemptions: {allowed: true}}}")
	hangs.Annotations = map[string]string{"policy.usher.dev/exempt": "cronjob-forbid-hang", "policy.usher.dev/exempt-reason": "it is watched"}
	c.Until(t, "exemptions are honoured", func() bool {
		_, err := c.BatchV1().CronJobs(ns).Create(t.Context(), hangs, dryRun)
		return err == nil
	})
	hangs.Annotations, hangs.Labels = nil, map[string]string{"app": "watched"}
	const exempt = "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, policies: {enforce: baseline}, exemptions: [{rules: [cronjob-forbid-hang], reason: it is watched, "
	put(exempt + "paths: ['**']}]}")
	c.Until(t, "an exemption with paths has no effect in a cluster", func() bool {
		_, err := c.BatchV1().CronJobs(ns).Create(t.Context(), hangs, dryRun)
		return apierrors.IsForbidden(err)
	})
	put(exempt + "selector: {matchLabels: {app: watched}}}]}")
	c.Until(t, "an exemption by labels applies", func() bool {
		_, err := c.BatchV1().CronJobs(ns).Create(t.Context(), hangs, dryRun)
		return err == nil
	})
	put(exempt + "selector: {matchLabels: {app: watched}}, until: 2026-01-31}]}")
	c.Until(t, "an exemption ends", func() bool {
		_, err := c.BatchV1().CronJobs(ns).Create(t.Context(), hangs, dryRun)
		return apierrors.IsForbidden(err)
	})
}

func TestWorkloadsAreJudgedAsInjected(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.Enforced(t, "invariant")
	c.Template(t, "zero", "containers: [{name: zero, image: z, livenessProbe: {tcpSocket: {port: 80}}, readinessProbe: {tcpSocket: {port: 80}}}]", "")
	c.Warnings.Take()
	d := webhooktest.Deployment(t, `"inject.usher.dev/zero": "true"`)
	if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The rule finds the sidecar's probes.
	if text := c.Warnings.Take(); !strings.Contains(text, "probe-identical: spec.template.spec.containers: livenessProbe of container zero") {
		t.Errorf("warnings %q", text)
	}
}

// TestConfiguredKindsAreJudged applies the rules to the pod template of a
// custom resource, which the API server does not know.
func TestConfiguredKindsAreJudged(t *testing.T) {
	c := webhooktest.Started(t)
	crd := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: pipelines.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {kind: Pipeline, plural: pipelines, singular: pipeline, listKind: PipelineList},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
	if out, err := c.Plane.Kubectl(t.Context(), crd, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := c.Plane.Kubectl(t.Context(), "", "wait", "--for=condition=Established", "crd/pipelines.example.com", "--timeout=20s"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "usher"}, Data: map[string]string{
		"config.yaml": "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, policies: {podTemplates: [{group: example.com, kind: Pipeline, path: spec.template}]}}",
	}}
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), "usher", metav1.DeleteOptions{})
	})
	ns := c.Enforced(t, "strict")
	pipeline := func(ready string) string {
		return `{apiVersion: example.com/v1, kind: Pipeline, metadata: {name: p}, spec: {template: {spec: {containers: [{name: a, image: "a:1", livenessProbe: {tcpSocket: {port: 80}}, readinessProbe: {tcpSocket: {port: ` + ready + `}}}]}}}}`
	}
	c.Until(t, "the kind is registered and judged", func() bool {
		out, err := c.Plane.Kubectl(t.Context(), pipeline("80"), "apply", "--dry-run=server", "-n", ns, "-f", "-")
		return err != nil && strings.Contains(out, "probe-identical: spec.template.spec.containers")
	})
	if out, _ := c.Plane.Kubectl(t.Context(), pipeline("81"), "apply", "-n", ns, "-f", "-"); strings.Contains(out, "probe-identical") {
		t.Error(out)
	}
}

func TestClusterAdminBindingsAreWarnedOf(t *testing.T) {
	c := webhooktest.Started(t)
	c.Warnings.Take()
	binding := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"everything"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"someone"}]}`
	err := c.RbacV1().RESTClient().Post().Resource("clusterrolebindings").Param("dryRun", "All").SetHeader("Content-Type", "application/json").Body([]byte(binding)).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	if text := c.Warnings.Take(); !strings.Contains(text, "rbac-cluster-admin: roleRef.name") {
		t.Errorf("warnings %q", text)
	}
}

// TestRolesAreWarnedOf_OnceTheirGroupIsSelected creates a ClusterRole that allows running
// commands in pods: the API server asks usher about it only if a rule judges it.
func TestRolesAreWarnedOf_OnceTheirGroupIsSelected(t *testing.T) {
	c := webhooktest.Started(t)
	role := `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ops}, rules: [{apiGroups: [""], resources: [pods/exec], verbs: [create]}]}`
	warned := func() bool {
		out, err := c.Plane.Kubectl(t.Context(), role, "apply", "--dry-run=server", "-f", "-")
		if err != nil {
			t.Fatal(err, out)
		}
		return strings.Contains(out, "rbac-exec: rules[0].resources[0]")
	}
	if warned() {
		t.Error("usher warns of a rule whose group is off")
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "usher"}, Data: map[string]string{
		"config.yaml": "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, policies: {groups: [security]}}",
	}}
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), "usher", metav1.DeleteOptions{})
	})
	c.Until(t, "roles are registered and judged", warned)
}
