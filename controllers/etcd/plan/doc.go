// Package plan decides what is done to an etcd cluster. From the spec and what
// was observed it makes one step: for growth, shrinking, replacement, upgrades,
// rolling, what members leave behind, and the switch to a restored member. The
// controllers execute the step and look again; the command line prints all that
// follow. The package is pure: it reads no cluster, no clock and no disk.
//
// What a member's data is worth is never concluded from one fact. That its data
// is gone, that it does not respond (and who says so), that etcd lists it and that
// it votes are kept apart; etcd's answers come first.
package plan
