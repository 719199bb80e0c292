// Package etcd decides what is done to an etcd cluster: which versions are run
// and which lead to which, which changes are refused, and, from what is wanted
// and what was seen, the steps that lead from one to the other with the quorum
// margin after each. The controller executes the first step and looks again; the
// command line prints them all. The package is pure.
package etcd
