package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup saves a snapshot of a cluster, once or every so often.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackups,singular=etcdbackup
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.spec.storageType`
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.etcdRevision`
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessDate`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.Reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec BackupSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status BackupStatus `json:"status,omitempty"`
}

// EtcdBackupList is a list of EtcdBackups.
//
// +kubebuilder:object:root=true
type EtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EtcdBackup `json:"items"`
}

// BackupSpec is the backup that is wanted.
type BackupSpec struct {
	// EtcdEndpoints are the URLs of the cluster's members or Service, such as
	// http://example-client.NAMESPACE.svc:2379. They must lead to pods or Services
	// of this namespace, or to hosts that usher's administrator allows. The member
	// with the highest revision is saved.
	// +optional
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`
	// StorageType is the kind of place it is saved to.
	StorageType BackupStorageType `json:"storageType"`
	// BackupPolicy says how often, and how many are kept.
	// +optional
	BackupPolicy *BackupPolicy `json:"backupPolicy,omitempty"`
	// BackupSource says where it is saved.
	BackupSource `json:",inline"`
	// ClientTLSSecret is the Secret to reach the cluster with: etcd-client.crt,
	// etcd-client.key and etcd-client-ca.crt.
	// +optional
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`
}

// BackupPolicy says how often a backup is made, and how many are kept.
type BackupPolicy struct {
	// TimeoutInSecond is how long one backup may take, in seconds; 0 means 60, and
	// more than 3600 means 3600.
	// +optional
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`
	// BackupIntervalInSecond is the time between two; 0 makes a single one.
	// +optional
	BackupIntervalInSecond int64 `json:"backupIntervalInSecond,omitempty"`
	// MaxBackups is how many of the newest are kept; 0 keeps all.
	// +optional
	MaxBackups int `json:"maxBackups,omitempty"`
}

// BackupStatus is what became of a backup.
type BackupStatus struct {
	// Succeeded says whether the last one was saved and verified.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Reason says why it was not.
	// +optional
	Reason string `json:"Reason,omitempty"`
	// EtcdVersion is that of the member which was saved.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// EtcdRevision is the revision of the store that was saved.
	// +optional
	EtcdRevision int64 `json:"etcdRevision,omitempty"`
	// LastSuccessDate is when the last one was saved.
	// +optional
	LastSuccessDate metav1.Time `json:"lastSuccessDate,omitempty"`

	// ObservedGeneration is that of the spec which the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ClusterID is etcd's id of the cluster that was saved.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Source is where the last one is, as an EtcdRestore has to name it.
	// +optional
	Source *BackupSource `json:"source,omitempty"`
	// Path is where the last one is.
	// +optional
	Path string `json:"path,omitempty"`
	// SizeBytes is its size.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	// SHA256 is its hash.
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// Duration is how long it took.
	// +optional
	Duration metav1.Duration `json:"duration,omitempty"`
	// NextRun is when the next one is due.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`
	// Conditions are the details.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
