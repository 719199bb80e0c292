package wellknown

const networkGroup = "samplecrd.k8s.io"

const (
	// AnnotationNetwork on a pod names Networks in its namespace, separated by
	// commas. The pod is attached to them in addition to the cluster's own network.
	AnnotationNetwork = networkGroup + "/network"
	// OwnNetwork is an annotation of a Deployment, or a label of its namespace:
	// "true" asks for a Network with the Deployment's name that only the Deployment
	// uses. On a namespace it is a label, because selectors cannot match
	// annotations.
	OwnNetwork = networkGroup + "/own-network"
	// FinalizerNetwork keeps a Network until its resources are removed.
	FinalizerNetwork = networkGroup + "/network"
)

// Metadata of the Leases that allocate ranges to Deployments' own Networks.
const (
	// LabelHolder finds the claims of one holder; a label's value is too short for
	// two names.
	LabelHolder = networkGroup + "/holder"
	// AnnotationRange is the claimed range.
	AnnotationRange = networkGroup + "/cidr"
)
