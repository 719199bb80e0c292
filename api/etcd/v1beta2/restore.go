package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRestore restores an etcd cluster from a backup.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdrestores,singular=etcdrestore,shortName=etcdrs,categories=usher
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.etcdCluster.name`
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.spec.backupStorageType`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="Revision",type=integer,priority=1,JSONPath=`.status.etcdRevision`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.path`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired restore.
	Spec RestoreSpec `json:"spec"`
	// Status is the last observed state of the restore.
	// +optional
	Status RestoreStatus `json:"status,omitempty"`
}

// EtcdRestoreList is a list of EtcdRestores.
//
// +kubebuilder:object:root=true
type EtcdRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EtcdRestore `json:"items"`
}

// RestoreSpec is the desired restore.
type RestoreSpec struct {
	// BackupStorageType selects where the backup is stored: S3 or
	// PersistentVolume.
	BackupStorageType BackupStorageType `json:"backupStorageType"`
	// BackupSource is the place of the backup.
	BackupSource `json:",inline"`
	// EtcdCluster is the cluster to restore the backup into.
	EtcdCluster EtcdClusterRef `json:"etcdCluster"`
	// BumpRevision is how much to increase the revision of the restored data, such
	// as 1000000000, so that clients that saw later revisions notice the restore:
	// it also marks all earlier revisions as compacted, which ends their watches.
	// Choose more than the cluster's writes since the backup. The default, 0,
	// keeps the revision. etcd needs version 3.5.10 or later.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000
	// +optional
	BumpRevision int64 `json:"bumpRevision,omitempty"`
}

// EtcdClusterRef names an EtcdCluster in the same namespace.
type EtcdClusterRef struct {
	// Name is the name of the EtcdCluster.
	Name string `json:"name"`
}

// RestoreStatus is the last observed state of a restore.
type RestoreStatus struct {
	// Succeeded is true once the restored cluster serves clients.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Reason explains why the restore has not succeeded.
	// +optional
	Reason string `json:"reason,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is the progress: Looking (validates the backup), Seeding (restores the
	// first member), Proving (verifies it), Switching (replaces the old members),
	// Growing (scales up) or Succeeded.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Path is the path of the backup that is being restored.
	// +optional
	Path string `json:"path,omitempty"`
	// EtcdRevision is the revision of the backup.
	// +optional
	EtcdRevision int64 `json:"etcdRevision,omitempty"`
	// WayBack is the rollback: how to recover the old cluster.
	// +optional
	WayBack string `json:"wayBack,omitempty"`
	// Conditions are the details of the restore's state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
