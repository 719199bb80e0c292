// Package network decides what Networks mean for pods, without a client: which
// Networks a pod declares and whether it can be attached to them, and which
// Deployments get a Network that only they use.
package network
