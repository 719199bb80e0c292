package handlers_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

const (
	withoutReadiness = `{selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}`
	touched          = `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":5}}}}`
)

// TestRolloutsGoOnInNamespacesThatEnforce runs the real controllers: what a
// workload was allowed to keep must not block the objects that the controllers
// create for it.
func TestRolloutsGoOnInNamespacesThatEnforce(t *testing.T) {
	c := webhooktest.Started(t)
	for name, flags := range map[string][]string{
		"each controller as its ServiceAccount": {"--use-service-account-credentials=true"},
		"all as the controller manager":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			stop, log, err := c.Plane.StartControllerManager("deployment-controller,replicaset-controller,statefulset-controller,job-controller", flags...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				stop()
				if t.Failed() {
					t.Log(log)
				}
			})
			ns := c.NewNamespace(t, nil)
			deployment := webhooktest.FromYAML[appsv1.Deployment](t, `{metadata: {name: a}, spec: `+withoutReadiness+`}`)
			if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			set := webhooktest.FromYAML[appsv1.StatefulSet](t, `{metadata: {name: s}, spec: `+withoutReadiness+`}`)
			set.Spec.ServiceName = "s"
			if _, err := c.AppsV1().StatefulSets(ns).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			job := webhooktest.FromYAML[batchv1.Job](t, `{metadata: {name: j}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`)
			if _, err := c.BatchV1().Jobs(ns).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			replicaSets := func() (withPods int) {
				sets, err := c.AppsV1().ReplicaSets(ns).List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range sets.Items {
					if sets.Items[i].Status.Replicas > 0 {
						withPods++
					}
				}
				return withPods
			}
			c.Until(t, "the Deployment has a pod", func() bool { return replicaSets() == 1 })
			enforce := `{"metadata":{"labels":{"` + wellknown.LabelEnforce + `":"strict"}}}`
			if _, err := c.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(enforce), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			c.Until(t, "the namespace enforces", func() bool {
				d := deployment.DeepCopy()
				d.Name = "b"
				_, err := c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err != nil
			})
			if _, err := c.AppsV1().Deployments(ns).Patch(t.Context(), "a", types.MergePatchType, []byte(touched), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.BatchV1().Jobs(ns).Patch(t.Context(), "j", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			c.Until(t, "the new ReplicaSet has a pod", func() bool { return replicaSets() == 2 })
			c.Until(t, "the StatefulSet and the Job have a pod each", func() bool {
				s, err := c.AppsV1().StatefulSets(ns).Get(t.Context(), "s", metav1.GetOptions{})
				if err != nil || s.Status.Replicas != 1 {
					return false
				}
				j, err := c.BatchV1().Jobs(ns).Get(t.Context(), "j", metav1.GetOptions{})
				return err == nil && j.Status.Active == 1
			})
		})
	}
}
