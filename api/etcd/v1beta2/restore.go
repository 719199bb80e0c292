package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRestore brings a cluster back from a backup.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdrestores,singular=etcdrestore
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.etcdCluster.name`
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.spec.backupStorageType`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec RestoreSpec `json:"spec"`
	// Status is what became of it.
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

// RestoreSpec is the restore that is wanted.
type RestoreSpec struct {
	// BackupStorageType is the kind of place the backup is in.
	BackupStorageType BackupStorageType `json:"backupStorageType"`
	// BackupSource says where it is.
	BackupSource `json:",inline"`
	// EtcdCluster is the cluster it is restored into.
	EtcdCluster EtcdClusterRef `json:"etcdCluster"`
}

// EtcdClusterRef names an EtcdCluster of the same namespace.
type EtcdClusterRef struct {
	// Name is the cluster's.
	Name string `json:"name"`
}

// RestoreStatus is what became of a restore.
type RestoreStatus struct {
	// Succeeded says that the restored cluster serves.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Reason says why it does not.
	// +optional
	Reason string `json:"reason,omitempty"`

	// ObservedGeneration is that of the spec which the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is how far it is.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Path is the backup that is restored.
	// +optional
	Path string `json:"path,omitempty"`
	// EtcdRevision is the revision of the backup.
	// +optional
	EtcdRevision int64 `json:"etcdRevision,omitempty"`
	// WayBack says how to have the old cluster again.
	// +optional
	WayBack string `json:"wayBack,omitempty"`
	// Conditions are the details.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
