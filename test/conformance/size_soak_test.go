//go:build soak

package conformance

// Sizes for long runs.
const (
	fewCreates         = 10_000
	fewUpdates         = 3_000
	generatedPairs     = 2_000
	manifestsOfAModule = 100_000
	generatedPolicies  = 200

	modulesWithManifests = "k8s.io/kubernetes,github.com/cert-manager/cert-manager,k8s.io/pod-security-admission," +
		"sigs.k8s.io/cluster-api@v1.14.2,knative.dev/serving@v0.51.0,istio.io/istio@v0.0.0-20260827124520-eed52ebb66ad," +
		"github.com/argoproj/argo-cd/v3@v3.5.7,github.com/tektoncd/pipeline@v1.0.0,github.com/tektoncd/triggers@v0.30.0"
)
