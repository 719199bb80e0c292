//go:build !soak

package conformance

// Sizes for short runs.
const (
	fewCreates         = 800
	fewUpdates         = 200
	generatedPairs     = 250
	manifestsOfAModule = 200
	generatedPolicies  = 20

	modulesWithManifests = "k8s.io/kubernetes,github.com/cert-manager/cert-manager,k8s.io/pod-security-admission"
)
