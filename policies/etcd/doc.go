// Package etcd says what the spec of an EtcdCluster means: which versions are run
// and which lead to which, what of the spec a member's pod and storage are made
// from, and which names are the controller's own. What is done about it is
// decided in controllers/etcd/plan. The package is pure.
package etcd
