// Package v1 is the API samplecrd.k8s.io/v1: the Network of a well-known
// tutorial, with a real network behind it.
//
// Other programs can import the package: it contains only types, and depends
// only on apimachinery.
//
// +kubebuilder:object:generate=true
// +groupName=samplecrd.k8s.io
package v1
