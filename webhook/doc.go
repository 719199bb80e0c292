// Package webhook is the request path: the server that the API server asks.
//
// The stages of a request, one a file:
//
//	read      the body, within bounds of size and time
//	decode    the AdmissionReview
//	mutate    the decision about a pod
//	workload  the decision about an object that holds a pod template
//	respond   the AdmissionReview that goes back
//
// A handler declares the webhooks that lead to it; registration renders the
// configuration from that. What is the object's fault is a denial with its
// reason; what is usher's own is a 5xx, so that the failurePolicy decides.
package webhook
