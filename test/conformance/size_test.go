//go:build !soak

package conformance

// How much is generated where there is little time.
const (
	fewCreates         = 800
	fewUpdates         = 200
	generatedPairs     = 250
	manifestsOfAModule = 200

	modulesWithManifests = "k8s.io/kubernetes,github.com/cert-manager/cert-manager,k8s.io/pod-security-admission"
)
