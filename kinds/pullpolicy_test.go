package kinds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	v1 "k8s.io/kubernetes/pkg/apis/core/v1"
)

// TestDefaultPullPolicy compares the result with that of the API server's own
// package.
func TestDefaultPullPolicy(t *testing.T) {
	const digest = "@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	for _, image := range []string{
		"app", "app:1", "app:latest", "app" + digest, "app:latest" + digest, "app:1" + digest, "registry:5000/app", "registry:5000/app:latest",
		"", "64Mi", "UPPER:latest", "team/UPPER", "app:", "app@", "app@sha256:12", "-app", "app:la test", " app", "http://registry/app:1", "localhost/app",
		"1111111111111111111111111111111111111111111111111111111111111111",
	} {
		container := &corev1.Container{Image: image}
		v1.SetDefaults_Container(container)
		if got := DefaultPullPolicy(image); got != container.ImagePullPolicy {
			t.Errorf("%q: %s, and the API server fills in %s", image, got, container.ImagePullPolicy)
		}
	}
}
