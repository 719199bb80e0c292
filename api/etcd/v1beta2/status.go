package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ClusterPhase is the state of a cluster in a word.
type ClusterPhase string

// The phases of a cluster.
const (
	// ClusterPhaseNone: not looked at yet.
	ClusterPhaseNone ClusterPhase = ""
	// ClusterPhaseCreating: the first member has not formed the cluster yet.
	ClusterPhaseCreating ClusterPhase = "Creating"
	// ClusterPhaseRunning: the cluster answers.
	ClusterPhaseRunning ClusterPhase = "Running"
	// ClusterPhaseFailed: the cluster does not answer, or is not run.
	ClusterPhaseFailed ClusterPhase = "Failed"
)

// ClusterStatus is what was last seen of a cluster.
type ClusterStatus struct {
	// Phase is the cluster's state in a word.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty"`
	// Reason says why the phase is what it is, where a person should know.
	// +optional
	Reason string `json:"reason,omitempty"`
	// ControlPaused says that the controller leaves the cluster as it is.
	// +optional
	ControlPaused bool `json:"controlPaused,omitempty"`
	// Conditions are the details of the state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []ClusterCondition `json:"conditions,omitempty"`
	// Size is the number of members, learners too.
	// +optional
	Size int `json:"size"`
	// ServiceName is the Service for clients.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// ClientPort is the port for clients.
	// +optional
	ClientPort int `json:"clientPort,omitempty"`
	// Members are the names of the members, by whether they are ready.
	// +optional
	Members MembersStatus `json:"members,omitempty"`
	// CurrentVersion is the version every member runs, or ran before an upgrade
	// that is under way.
	// +optional
	CurrentVersion string `json:"currentVersion,omitempty"`
	// TargetVersion is the version of an upgrade that is under way.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// ObservedGeneration is that of the spec which the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Selector finds the members' pods, for those who scale.
	// +optional
	Selector string `json:"selector,omitempty"`
	// ClusterID is etcd's id of the cluster. Where it is set the cluster was
	// formed, and is never formed anew.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// ClusterVersion is the version of etcd's API and raft that all members
	// speak, such as 3.6: the lowest of theirs.
	// +optional
	ClusterVersion string `json:"clusterVersion,omitempty"`
	// StorageVersion is the version of the data's format, where etcd tells it.
	// +optional
	StorageVersion string `json:"storageVersion,omitempty"`
	// TLS is what traffic of the members is encrypted: all, peers, clients, or
	// empty for none.
	// +optional
	TLS string `json:"TLS,omitempty"`
	// Quorum counts the members that vote.
	// +optional
	Quorum *QuorumStatus `json:"quorum,omitempty"`
	// MemberStatuses are the members one by one.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	MemberStatuses []MemberStatus `json:"memberStatuses,omitempty"`
	// SetAside are claims that wait to be deleted, and those that will be.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=claim
	// +optional
	SetAside []SetAsideClaim `json:"setAside,omitempty"`
	// HeldBy is the EtcdRestore that the controller leaves the cluster to.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`
	// Restore is how to have the cluster again, while its majority is lost and
	// there is a backup of it.
	// +optional
	Restore *RestoreOffer `json:"restore,omitempty"`
	// Step is what the controller does now.
	// +optional
	Step string `json:"step,omitempty"`
	// IgnoredFields are fields of the spec that are set and have no effect.
	// +listType=set
	// +optional
	IgnoredFields []string `json:"ignoredFields,omitempty"`
}

// MembersStatus are the names of members.
type MembersStatus struct {
	// Ready are those that serve.
	// +listType=set
	// +optional
	Ready []string `json:"ready,omitempty"`
	// Unready are those that do not.
	// +listType=set
	// +optional
	Unready []string `json:"unready,omitempty"`
}

// QuorumStatus counts the members that vote.
type QuorumStatus struct {
	// Voters are the members that vote.
	Voters int `json:"voters"`
	// Healthy are the voters that answer.
	Healthy int `json:"healthy"`
	// Margin is how many more may fail before the cluster stops; below zero it
	// has stopped.
	Margin int `json:"margin"`
}

// SetAsideClaim is a claim whose member was, or is about to be, removed.
type SetAsideClaim struct {
	// Claim is its name.
	Claim string `json:"claim"`
	// Reason is why its member was removed: DataGone, Unresponsive, Shrunk,
	// Replaced, Unneeded, NeverFormed or Restored; empty where that is not known.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message says it in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// Until is when it may be deleted; unset until it is set aside.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// RestoreOffer is how to have a cluster again: its newest backup, and what to
// apply.
type RestoreOffer struct {
	// Backup is the EtcdBackup that made it.
	Backup string `json:"backup"`
	// Path is where the backup is.
	Path string `json:"path"`
	// EtcdRevision is the revision of the backup: what was written after it is
	// lost.
	EtcdRevision int64 `json:"etcdRevision"`
	// Date is when the backup was made.
	Date metav1.Time `json:"date"`
	// Manifest is the EtcdRestore to apply, in YAML.
	Manifest string `json:"manifest"`
	// EtcdRestore is the one that the controller has made of the manifest. It
	// makes one for each loss, where the cluster asks for it.
	// +optional
	EtcdRestore string `json:"etcdRestore,omitempty"`
}

// MemberStatus is what was last seen of a member.
type MemberStatus struct {
	// Name is the member's and its pod's.
	Name string `json:"name"`
	// ID is etcd's id of it, in hexadecimal; empty until it is a member.
	// +optional
	ID string `json:"id,omitempty"`
	// Version is what it last said it runs; empty until it said so.
	// +optional
	Version string `json:"version,omitempty"`
	// TargetVersion is what its pod was last told to run.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`
	// Learner says that it does not vote yet.
	// +optional
	Learner bool `json:"learner,omitempty"`
	// Leader says that it leads.
	// +optional
	Leader bool `json:"leader,omitempty"`
	// Ready says that it answers; of a learner, that it has caught up, too.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// Lost says that its data is gone, so that it cannot come back as itself.
	// +optional
	Lost bool `json:"lost,omitempty"`
	// Changed says that the controller changed its pod while it served, and that it
	// has not served since: it is not given up for that.
	// +optional
	Changed bool `json:"changed,omitempty"`
	// Claim is the PersistentVolumeClaim its data is on.
	// +optional
	Claim string `json:"claim,omitempty"`
	// ClaimUID is the UID of that claim: another one of the same name does not
	// hold the member's data.
	// +optional
	ClaimUID string `json:"claimUID,omitempty"`
	// Storage is the size its claim asked for.
	// +optional
	Storage *resource.Quantity `json:"storage,omitempty"`
	// PodRevision is of what in the spec its pod was made from.
	// +optional
	PodRevision string `json:"podRevision,omitempty"`
	// StorageRevision is of what in the spec its storage was made from.
	// +optional
	StorageRevision string `json:"storageRevision,omitempty"`
	// Since is when it was made.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Message says what is wrong with it.
	// +optional
	Message string `json:"message,omitempty"`
}
