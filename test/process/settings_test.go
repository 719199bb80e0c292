package process_test

import (
	"os/exec"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
)

// TestTheRegistrationHasTheAnnotationsThatAreAskedFor also writes an annotation
// of another client, which stays.
func TestTheRegistrationHasTheAnnotationsThatAreAskedFor(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 0)
	s.start(t, func(c *exec.Cmd) {
		c.Args = append(c.Args, "--registration-annotations=admissions.enforcer/disabled=true", "--registration-annotations=example.com/a=b")
	})
	annotations := func(kind string) map[string]string {
		switch kind {
		case "mutating":
			if got, err := shared.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "usher", metav1.GetOptions{}); err == nil {
				return got.Annotations
			}
		default:
			if got, err := shared.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "usher", metav1.GetOptions{}); err == nil {
				return got.Annotations
			}
		}
		return nil
	}
	if err := shared.plane.UntilRegistered(t.Context(), "https://"+s.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if out, err := shared.plane.Kubectl(t.Context(), "", "annotate", "mutatingwebhookconfiguration", "usher", "example.com/theirs=stays"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for kind, want := range map[string]map[string]string{
		"mutating":   {"admissions.enforcer/disabled": "true", "example.com/a": "b", "example.com/theirs": "stays"},
		"validating": {"admissions.enforcer/disabled": "true", "example.com/a": "b"},
	} {
		until(t, "the "+kind+" configuration has them", func() bool { return cmp.Equal(want, annotations(kind)) })
	}
}

// TestPodsOfTheControllersNameThePullSecrets creates an etcd cluster, and only
// checks the member's pod.
func TestPodsOfTheControllersNameThePullSecrets(t *testing.T) {
	controller(t, "--controllers=etcdcluster", "--image-pull-secrets=registry,mirror")
	apply(t, `{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: pulled, namespace: default}, spec: {size: 1}}`)
	var pods *corev1.PodList
	until(t, "a pod of a member is there", func() bool {
		var err error
		pods, err = shared.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "etcd_cluster=pulled"})
		return err == nil && len(pods.Items) > 0
	})
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "registry"}, {Name: "mirror"}}, pods.Items[0].Spec.ImagePullSecrets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
