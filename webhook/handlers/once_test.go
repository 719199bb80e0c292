package handlers_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestAPodIsSentOnce lets the API server mount the pod's token. It sends a pod
// again if it finds more to mount than before.
func TestAPodIsSentOnce(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Template(t, "side", webhooktest.Small, "")
	const token = "/var/run/secrets/kubernetes.io/serviceaccount"
	for name, tc := range map[string]struct {
		spec   string
		mounts int // at the token's path
		sent   float64
	}{
		"with a token":                      {"", 2, 1},
		"with a token in an init container": {"initContainers: [{name: setup, image: i}], containers: [{name: app, image: app}]", 3, 1},
		"with a token and a native sidecar": {"restartPolicy: Never, containers: [{name: app, image: app}]", 2, 1},
		"without a token":                   {"automountServiceAccountToken: false, containers: [{name: app, image: app}]", 0, 1},
		// Only the added container gets the token, for which the pod had no volume.
		"with something in the token's place": {"volumes: [{name: v, emptyDir: {}}], containers: [{name: app, image: app, volumeMounts: [{name: v, mountPath: " + token + "}]}]", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.Decisions(t, "/mutate")
			got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, tc.spec), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				t.Fatal(err)
			}
			mounts := 0
			for _, container := range append(got.Spec.InitContainers, got.Spec.Containers...) {
				for _, m := range container.VolumeMounts {
					if m.MountPath == token {
						mounts++
					}
				}
			}
			if sent := c.Decisions(t, "/mutate") - before; sent != tc.sent || mounts != tc.mounts {
				t.Errorf("it was sent %v times, want %v, and has %d mounts, want %d", sent, tc.sent, mounts, tc.mounts)
			}
		})
	}
}
