// Package policies evaluates rules on Kubernetes objects: it decodes an object
// once, lets each rule inspect it, and returns the findings. The rules
// themselves are in package rules.
//
// The package is pure: it reads neither files nor a cluster, so that the
// webhook, the command line and the generated documents reach the same verdict.
package policies
