// Package v1beta2 is the API of etcd clusters, their backups and restores. It is
// compatible with manifests for etcd-operator since 2017: every field keeps its
// name and spelling. The status lists fields of the spec that have no effect.
//
// +kubebuilder:object:generate=true
// +groupName=etcd.database.coreos.com
package v1beta2
