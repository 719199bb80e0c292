// Package etcd interprets the spec of an EtcdCluster: the supported versions
// and upgrade paths, the parts of the spec that a member's pod and storage
// depend on, and the reserved names. controllers/etcd/plan decides how to act
// on it. The package is pure.
package etcd
