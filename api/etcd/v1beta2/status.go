package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ClusterPhase is the state of a cluster in one word.
type ClusterPhase string

// The phases of a cluster.
const (
	// ClusterPhaseNone: the controller has not observed the cluster yet.
	ClusterPhaseNone ClusterPhase = ""
	// ClusterPhaseCreating: the first member has not formed the cluster yet.
	ClusterPhaseCreating ClusterPhase = "Creating"
	// ClusterPhaseRunning: the cluster answers.
	ClusterPhaseRunning ClusterPhase = "Running"
	// ClusterPhaseFailed: the cluster does not answer, or usher does not run it.
	ClusterPhaseFailed ClusterPhase = "Failed"
	// ClusterPhaseHibernated: the cluster sleeps, because the spec says so.
	ClusterPhaseHibernated ClusterPhase = "Hibernated"
)

// ClusterStatus is the last observed state of a cluster.
type ClusterStatus struct {
	// Phase is the state of the cluster in one word: Creating, Running,
	// Hibernated or Failed.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty"`
	// Reason explains the phase if it needs attention.
	// +optional
	Reason string `json:"reason,omitempty"`
	// ControlPaused is true while spec.paused stops the controller from changing
	// the cluster.
	// +optional
	ControlPaused bool `json:"controlPaused,omitempty"`
	// Conditions are the details of the state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []ClusterCondition `json:"conditions,omitempty"`
	// Size is the number of members, including learners.
	// +optional
	Size int `json:"size"`
	// ServiceName is the name of the Service for clients.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// ClientPort is the port for clients.
	// +optional
	ClientPort int `json:"clientPort,omitempty"`
	// Members lists the names of the ready and unready members.
	// +optional
	Members MembersStatus `json:"members,omitempty"`
	// CurrentVersion is the version that every member runs, or ran before an
	// upgrade in progress.
	// +optional
	CurrentVersion string `json:"currentVersion,omitempty"`
	// TargetVersion is the version of an upgrade or downgrade in progress.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Selector selects the members' pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// ClusterID is etcd's ID of the cluster, in hexadecimal. Once it is set, the
	// controller never forms the cluster again.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// ClusterVersion is etcd's cluster version, such as 3.6: the lowest minor
	// version of the members.
	// +optional
	ClusterVersion string `json:"clusterVersion,omitempty"`
	// StorageVersion is the version of etcd's storage format, if etcd reports it.
	// +optional
	StorageVersion string `json:"storageVersion,omitempty"`
	// TLS is the traffic that members encrypt: all, peers, clients, or empty for
	// none.
	// +optional
	TLS string `json:"TLS,omitempty"`
	// Certificates is what members have of certificates, and what the controller
	// keeps for them.
	// +optional
	Certificates *CertificatesStatus `json:"certificates,omitempty"`
	// Quorum counts the voting members.
	// +optional
	Quorum *QuorumStatus `json:"quorum,omitempty"`
	// MemberStatuses are the states of the members.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	MemberStatuses []MemberStatus `json:"memberStatuses,omitempty"`
	// SetAside are claims of removed members that wait to be deleted, and claims
	// that are about to be set aside.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=claim
	// +optional
	SetAside []SetAsideClaim `json:"setAside,omitempty"`
	// HeldBy is the name of the EtcdRestore that has reserved the cluster.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`
	// Restore explains how to recover the cluster while its quorum is lost and it
	// has a backup.
	// +optional
	Restore *RestoreOffer `json:"restore,omitempty"`
	// Space is what the controller knows of the space of the members' databases.
	// +optional
	Space *SpaceStatus `json:"space,omitempty"`
	// Step is what the controller is doing.
	// +optional
	Step string `json:"step,omitempty"`
	// IgnoredFields are fields of the spec that are set but have no effect.
	// +listType=set
	// +optional
	IgnoredFields []string `json:"ignoredFields,omitempty"`
}

// MembersStatus lists the names of members.
type MembersStatus struct {
	// Ready are the members that serve clients.
	// +listType=set
	// +optional
	Ready []string `json:"ready,omitempty"`
	// Unready are the members that do not serve clients.
	// +listType=set
	// +optional
	Unready []string `json:"unready,omitempty"`
}

// QuorumStatus counts the voting members.
type QuorumStatus struct {
	// Voters is the number of voting members.
	Voters int `json:"voters"`
	// Healthy is the number of voters that answer, or that their kubelets call ready.
	Healthy int `json:"healthy"`
	// Margin is how many more voters may fail before the cluster loses its quorum.
	// It is negative once the quorum is lost.
	Margin int `json:"margin"`
}

// SetAsideClaim is a claim whose member was, or is about to be, removed.
type SetAsideClaim struct {
	// Claim is the name of the PersistentVolumeClaim.
	Claim string `json:"claim"`
	// Reason is why its member was removed: DataGone, Unresponsive, Shrunk,
	// Replaced, Unneeded, NeverFormed or Restored; empty where that is not known.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// Until is when the claim may be deleted. It is not set before the claim is
	// set aside.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// RestoreOffer explains how to recover a cluster: its newest backup, and the
// manifest to apply.
type RestoreOffer struct {
	// Backup is the name of the EtcdBackup that made the backup.
	Backup string `json:"backup"`
	// Path is the path of the backup.
	Path string `json:"path"`
	// EtcdRevision is the revision of the backup. Later writes are lost.
	EtcdRevision int64 `json:"etcdRevision"`
	// Date is when the backup was made.
	Date metav1.Time `json:"date"`
	// Manifest is the EtcdRestore to apply, in YAML.
	Manifest string `json:"manifest"`
	// EtcdRestore is the name of the EtcdRestore that the controller created from
	// the manifest. It creates one for each loss of quorum if the cluster has the
	// annotation etcd.usher.dev/auto-restore.
	// +optional
	EtcdRestore string `json:"etcdRestore,omitempty"`
}

// MemberStatus is the last observed state of a member.
type MemberStatus struct {
	// Name is the name of the member and its pod.
	Name string `json:"name"`
	// ID is etcd's ID of the member, in hexadecimal. It is empty until etcd has
	// added the member.
	// +optional
	ID string `json:"id,omitempty"`
	// Version is the version that the member last reported. It is empty before the
	// first report.
	// +optional
	Version string `json:"version,omitempty"`
	// TargetVersion is the version that its pod was last told to run.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`
	// Learner is true while the member does not vote yet.
	// +optional
	Learner bool `json:"learner,omitempty"`
	// Leader is true if the member is the leader.
	// +optional
	Leader bool `json:"leader,omitempty"`
	// Ready is true if the member answers. A learner must also have caught up.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// Lost is true if the data of the member is lost, so that only a new member
	// can replace it.
	// +optional
	Lost bool `json:"lost,omitempty"`
	// Changed is true if the controller changed its pod while it served, and it
	// has not served since. The controller does not replace it for that.
	// +optional
	Changed bool `json:"changed,omitempty"`
	// Claim is the name of the PersistentVolumeClaim with its data.
	// +optional
	Claim string `json:"claim,omitempty"`
	// ClaimUID is the UID of that claim. Another claim of the same name does not
	// have the member's data.
	// +optional
	ClaimUID string `json:"claimUID,omitempty"`
	// Storage is the size that its claim requests.
	// +optional
	Storage *resource.Quantity `json:"storage,omitempty"`
	// DatabaseSize is the approximate size of the member's database, such as 12Mi:
	// the controller writes it again if it has changed by more than a tenth.
	// +optional
	DatabaseSize *resource.Quantity `json:"databaseSize,omitempty"`
	// PodRevision is a hash of the part of the spec that its pod was created from.
	// +optional
	PodRevision string `json:"podRevision,omitempty"`
	// StorageRevision is a hash of the part of the spec that its storage was
	// created from.
	// +optional
	StorageRevision string `json:"storageRevision,omitempty"`
	// Certificates is what its pod was created with. It is empty if the pod mounts
	// the Secrets in spec.TLS themselves.
	// +optional
	Certificates *MemberCertificates `json:"certificates,omitempty"`
	// SpaceRevision is a hash of the quota, the compaction and the timeout that its
	// pod was created with; empty without any.
	// +optional
	SpaceRevision string `json:"spaceRevision,omitempty"`
	// LastDefragmentation is when the controller last defragmented the member.
	// +optional
	LastDefragmentation *metav1.Time `json:"lastDefragmentation,omitempty"`
	// Since is when the member was created.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Message explains what is wrong with the member.
	// +optional
	Message string `json:"message,omitempty"`
}
