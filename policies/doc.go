// Package policies judges Kubernetes objects by rules: it decodes an object
// once, has each rule look at it, and returns what the rules find. The rules
// themselves are in package rules.
//
// The package is pure: it reads no files and no cluster, so that the webhook,
// the command line and the generated documents reach the same verdict.
package policies
