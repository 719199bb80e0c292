package kinds

import (
	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
)

// DefaultPullPolicy returns the API server's default of imagePullPolicy: Always
// for the tag latest, which is the default without a tag or digest, and
// IfNotPresent for others. A name that is not a reference, such as "64Mi", has
// no tag (SetDefaults_Container in k8s.io/kubernetes/pkg/apis/core/v1).
func DefaultPullPolicy(image string) corev1.PullPolicy {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return corev1.PullIfNotPresent
	}
	if tagged, ok := named.(reference.Tagged); ok {
		if tagged.Tag() == "latest" {
			return corev1.PullAlways
		}
		return corev1.PullIfNotPresent
	}
	if _, digested := named.(reference.Digested); digested {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}
