// Package v1 is the API samplecrd.k8s.io/v1: the Network of a cluster's
// tutorials, made real.
//
// The package is what other programs import: it holds types alone, and depends
// on apimachinery and nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=samplecrd.k8s.io
package v1
