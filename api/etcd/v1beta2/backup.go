package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup saves a snapshot of an etcd cluster, once or periodically.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackups,singular=etcdbackup,shortName=etcdbk,categories=usher
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.spec.storageType`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.backupPolicy.schedule`
// +kubebuilder:printcolumn:name="Interval",type=integer,JSONPath=`.spec.backupPolicy.backupIntervalInSecond`
// +kubebuilder:printcolumn:name="Succeeded",type=boolean,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.etcdRevision`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.status.sizeBytes`
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessDate`
// +kubebuilder:printcolumn:name="Next Run",type=string,priority=1,JSONPath=`.status.nextRun`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.path`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.Reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired backup.
	Spec BackupSpec `json:"spec"`
	// Status is the last observed state of the backup.
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

// BackupSpec is the desired backup.
type BackupSpec struct {
	// EtcdEndpoints are the URLs of the cluster's members or Service, such as
	// http://example-client.NAMESPACE.svc:2379. They must lead to pods or Services
	// in this namespace, or to hosts that usher's administrator allows. usher
	// backs up the member with the highest revision.
	// +optional
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`
	// StorageType selects where to store the backup: S3 or PersistentVolume.
	StorageType BackupStorageType `json:"storageType"`
	// BackupPolicy configures periodic backups. Without it usher makes a single
	// one.
	// +optional
	BackupPolicy *BackupPolicy `json:"backupPolicy,omitempty"`
	// BackupSource is the place to store the backup in.
	BackupSource `json:",inline"`
	// ClientTLSSecret is the name of the Secret with the client certificate for
	// etcd: etcd-client.crt, etcd-client.key and etcd-client-ca.crt. Without it
	// usher connects without TLS.
	// +optional
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`
	// AuthSecret is the name of the Secret with the name and password of a user of
	// etcd with the role root, of the type kubernetes.io/basic-auth. It may be that
	// of spec.auth.rootSecret in the EtcdCluster. usher uses it if etcd's
	// authentication is enabled.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	AuthSecret string `json:"authSecret,omitempty"`
}

// BackupPolicy configures the timeout, times and retention of backups.
type BackupPolicy struct {
	// TimeoutInSecond is the timeout of each backup in seconds; 0 means 60, and
	// the maximum is 3600.
	// +optional
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`
	// BackupIntervalInSecond is the interval of periodic backups in seconds, such
	// as 3600; 0 means a single backup, unless schedule is set.
	// +optional
	BackupIntervalInSecond int64 `json:"backupIntervalInSecond,omitempty"`
	// Schedule is when to make periodic backups, in cron format as in a CronJob,
	// such as "0 3 * * *". Set either it or backupIntervalInSecond.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// TimeZone is the time zone of the schedule, a name from the IANA time zone
	// database, such as Europe/Berlin. The default is UTC.
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
	// MaxBackups is how many of the newest periodic backups to keep, such as 24; 0
	// keeps all.
	// +optional
	MaxBackups int `json:"maxBackups,omitempty"`
}

// BackupStatus is the last observed state of a backup.
type BackupStatus struct {
	// Succeeded is true if the last backup was saved and verified.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Reason explains why the last backup failed.
	// +optional
	Reason string `json:"Reason,omitempty"`
	// EtcdVersion is the etcd version of the member that was backed up.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// EtcdRevision is the revision of the last backup.
	// +optional
	EtcdRevision int64 `json:"etcdRevision,omitempty"`
	// LastSuccessDate is the time of the last successful backup.
	// +optional
	LastSuccessDate metav1.Time `json:"lastSuccessDate,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ClusterID is etcd's ID of the cluster that was backed up, in hexadecimal.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Source is the place of the last backup, as an EtcdRestore has to name it.
	// +optional
	Source *BackupSource `json:"source,omitempty"`
	// Path is the path of the last backup.
	// +optional
	Path string `json:"path,omitempty"`
	// SizeBytes is the size of the last backup in bytes.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	// SHA256 is the SHA-256 checksum of the last backup, in hexadecimal.
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// Duration is how long the last backup took.
	// +optional
	Duration metav1.Duration `json:"duration,omitempty"`
	// StoreGrace are the addresses of a store that usher uses only until its next
	// minor release, because a backup was saved there before usher checked
	// addresses, such as 10.96.12.7; see the condition StoreAllowed.
	// +listType=set
	// +optional
	StoreGrace []string `json:"storeGrace,omitempty"`
	// NextRun is when the next periodic backup is due.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`
	// Conditions are the details of the backup's state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
