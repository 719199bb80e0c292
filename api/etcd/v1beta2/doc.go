// Package v1beta2 is the API of etcd clusters, their backups and restores, as
// manifests have been written for it since 2017: every field keeps its name and
// its spelling. What a field means is in docs; a field that usher does not act
// on is named in the status.
//
// +kubebuilder:object:generate=true
// +groupName=etcd.database.coreos.com
package v1beta2
