// Package plan decides about the steps for an etcd cluster. From the spec and
// the observation it makes one step: for growth, shrinking, replacement,
// upgrades, rolling, cleanup, and the switchover to a restored member. The
// controllers execute the step and observe again; the command line prints all
// steps. The package is pure: it reads no cluster, clock or disk.
//
// It never decides about the value of a member's data from one fact. It
// distinguishes that its data is lost, that it does not respond (and according
// to whom), that etcd lists it and that it votes; etcd's answers take
// precedence.
package plan
