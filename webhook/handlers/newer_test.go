package handlers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// newer starts an API server that keeps and defaults a StatefulSet's
// maxUnavailable, as Kubernetes does since 1.37, and an usher that reads a version
// that it is not tested with.
func newer(t *testing.T) *webhooktest.Cluster {
	t.Helper()
	flags := map[string]string{"feature-gates": "MaxUnavailableStatefulSet=true"}
	plane, err := controlplane.StartWithFlags(os.Stderr, flags, "../../deploy/base/crds")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plane.Stop() })
	plane.Version = fmt.Sprintf("v1.%d.2", policies.NewestServer+1)
	return webhooktest.Beside(t, plane)
}

func TestANewerKubernetesIsDeniedNothingThatItMayDoDifferently(t *testing.T) {
	c := newer(t)
	ns := c.Enforced(t, "baseline")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"s": "db"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	service, err := c.CoreV1().Services(ns).Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	statefulSet := webhooktest.FromYAML[appsv1.StatefulSet](t, `{metadata: {name: db}, spec: {serviceName: db, selector: {matchLabels: {s: db}}, template: {metadata: {labels: {s: db}}, spec: {
serviceAccountName: db, containers: [{name: a, image: 'a:1', resources: {requests: {memory: 1Mi}}, livenessProbe: {exec: {command: [live]}}, readinessProbe: {exec: {command: [ready]}}}]}}}}`)
	c.Warnings.Take()
	statefulSet, err = c.AppsV1().StatefulSets(ns).Create(t.Context(), statefulSet, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("a StatefulSet with a rolling update: %v", err)
	}
	if text := c.Warnings.Take(); text != "" {
		t.Errorf("a StatefulSet with a rolling update is warned of: %s", text)
	}
	if r := statefulSet.Spec.UpdateStrategy.RollingUpdate; r == nil || r.MaxUnavailable == nil {
		t.Fatalf("the server did not set maxUnavailable, so the test shows nothing: %+v", statefulSet.Spec.UpdateStrategy)
	}

	onlyWarned := func(what, id string, err error) {
		t.Helper()
		text := c.Warnings.Take()
		if want := fmt.Sprintf("tested up to Kubernetes 1.%d", policies.NewestServer); err != nil || !strings.Contains(text, id) || !strings.Contains(text, want) {
			t.Errorf("%s: %v, and the warnings %q; want it admitted, and a warning of %s that says %q", what, err, text, id, want)
		}
	}
	d := webhooktest.Deployment(t, "")
	d.Spec.RevisionHistoryLimit = new(int32)
	_, err = c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{})
	onlyWarned("what Kubernetes does with a field", "deploy-history-zero", err)
	service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.com"}
	_, err = c.CoreV1().Services(ns).Update(t.Context(), service, metav1.UpdateOptions{})
	onlyWarned("what Kubernetes does with a change", "svc-external-name", err)

	statefulSet.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64)
	if _, err = c.AppsV1().StatefulSets(ns).Update(t.Context(), statefulSet, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "sts-grace-zero") {
		t.Errorf("a rule that holds whatever the version: %v, want a denial", err)
	}
}

func TestTheServersVersionIsNamed(t *testing.T) {
	c := newer(t)
	if want := fmt.Sprintf("[!]Kubernetes 1.%d.2 is newer than 1.%d,", policies.NewestServer+1, policies.NewestServer); !strings.Contains(c.Readyz(t), want) {
		t.Errorf("/readyz?verbose is\n%s\nwant a line with %q", c.Readyz(t), want)
	}
	families, err := c.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("1.%d.2", policies.NewestServer+1)
	for _, f := range families {
		if f.GetName() == "usher_kubernetes_info" {
			if m := f.GetMetric(); len(m) != 1 || m[0].GetLabel()[0].GetValue() != want || m[0].GetGauge().GetValue() != 1 {
				t.Errorf("usher_kubernetes_info is %v, want 1 for %s", m, want)
			}
			return
		}
	}
	t.Error("no metric usher_kubernetes_info")
}
