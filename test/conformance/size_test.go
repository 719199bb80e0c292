//go:build !soak

package conformance

// How much is generated where there is little time.
const (
	fewCreates         = 1500
	fewUpdates         = 300
	manifestsOfAModule = 500

	modulesWithManifests = "k8s.io/kubernetes,github.com/cert-manager/cert-manager,k8s.io/pod-security-admission"
)
