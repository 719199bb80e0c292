package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/controlplane"
)

// TestThePoliciesInjectTheSeedsTemplate compares what the policies add, to pods
// with and without volumes, with the template.
func TestThePoliciesInjectTheSeedsTemplate(t *testing.T) {
	plane, err := controlplane.Shared(os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plane.Stop() })
	clients, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := plane.Kubectl(t.Context(), "", "apply", "-f", "policies.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "policies"}}
	if _, err := clients.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := plane.Account(t.Context(), namespace.Name); err != nil {
		t.Fatal(err)
	}
	want := seedTemplate(t)
	for name, pod := range map[string]corev1.PodSpec{
		"a pod with a token":        {},
		"a pod without any volumes": {AutomountServiceAccountToken: new(bool)},
	} {
		t.Run(name, func(t *testing.T) {
			pod.Containers = []corev1.Container{{Name: "app", Image: "app", TerminationMessagePath: "/app"}}
			got := &corev1.Pod{}
			// The API server does not report when policies are in force.
			err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				var err error
				got, err = clients.CoreV1().Pods(namespace.Name).Create(ctx, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}, Spec: pod,
				}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err == nil && len(got.Spec.Containers) == 2, err
			})
			if err != nil {
				t.Fatal(err)
			}
			if own := got.Spec.Containers[0]; own.Name != "app" || own.Image != "app" || own.TerminationMessagePath != "/app" {
				t.Errorf("the pod's own container became %+v", own)
			}
			added := got.Spec.Containers[1]
			container := corev1.Container{
				Name: added.Name, Image: added.Image, Command: added.Command, Args: added.Args,
				Ports: added.Ports, Resources: added.Resources, VolumeMounts: added.VolumeMounts[:1],
			}
			if diff := cmp.Diff(want.Containers, []corev1.Container{container}); diff != "" {
				t.Errorf("containers (-template +added):\n%s", diff)
			}
		})
	}
}

// seedTemplate is what the template adds.
func seedTemplate(t *testing.T) (template struct {
	Containers []corev1.Container `json:"containers"`
}) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/templates/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var configuration corev1.ConfigMap
	if err := yaml.Unmarshal(text, &configuration); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(configuration.Data["config"]), &template); err != nil {
		t.Fatal(err)
	}
	return template
}
