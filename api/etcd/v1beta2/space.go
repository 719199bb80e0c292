package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SpacePolicy decides about the space of the members' databases.
type SpacePolicy struct {
	// QuotaBackendBytes is the size of a member's database at which etcd refuses
	// writes, such as 4Gi. etcd's own default is 2Gi. A change restarts the members
	// one by one.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1048576 : quantity(self).compareTo(quantity('1Mi')) >= 0",message="write at least 1Mi, such as 4Gi"
	// +optional
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`
	// AutoCompaction drops the history of keys. Without it etcd keeps every
	// revision until a client compacts it. A change restarts the members one by
	// one.
	// +optional
	AutoCompaction *AutoCompaction `json:"autoCompaction,omitempty"`
	// Defragmentation returns free space of the members' databases to their
	// volumes.
	// +optional
	Defragmentation *Defragmentation `json:"defragmentation,omitempty"`
	// RecoverNoSpace lets the controller end the alarm NOSPACE: it compacts the
	// history, defragments the members and disarms the alarm. Without it a person
	// does that.
	// +optional
	RecoverNoSpace *NoSpaceRecovery `json:"recoverNoSpace,omitempty"`
}

// AutoCompaction is what etcd's flags --auto-compaction-mode and
// --auto-compaction-retention say.
//
// +kubebuilder:validation:XValidation:rule="self.mode != 'revision' || self.retention.matches('^[1-9][0-9]*$')",message="with the mode revision, retention is a number of revisions, such as 10000"
// +kubebuilder:validation:XValidation:rule="self.mode != 'periodic' || self.retention.matches('^[1-9][0-9]*[smh]?$')",message="with the mode periodic, retention is a time, such as 30m or 8h; a number without a unit means hours"
type AutoCompaction struct {
	// Mode is periodic or revision.
	// +kubebuilder:default=periodic
	// +kubebuilder:validation:Enum=periodic;revision
	// +optional
	Mode string `json:"mode,omitempty"`
	// Retention is the history to keep: with the mode periodic a time, such as 8h,
	// with the mode revision a number of revisions, such as 10000.
	// +kubebuilder:validation:MaxLength=16
	Retention string `json:"retention"`
}

// Defragmentation decides when members are defragmented: one at a time, the
// leader last, while every member is ready. A member answers nothing meanwhile.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || !has(self.timeZone)",message="timeZone needs a schedule"
type Defragmentation struct {
	// Schedule is when to defragment all members, in cron format as in a CronJob,
	// such as "0 3 * * 0". If a member is down then, the controller waits for it.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// TimeZone is the time zone of the schedule, a name from the IANA time zone
	// database, such as Europe/Berlin. The default is UTC.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
	// Fragmentation is the free space of its database from which a member is
	// defragmented at any time.
	// +optional
	Fragmentation *Fragmentation `json:"fragmentation,omitempty"`
	// TimeoutSeconds is how long the defragmentation of one member may take; 0 means
	// 60, and the maximum is 3600. The liveness probe of the members allows for
	// more than 60, so that such a value restarts the members one by one.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Fragmentation is free space of a database. Both must be reached.
type Fragmentation struct {
	// Percent is the free part of the database, from 10 to 95.
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// MinimumFree is the free space, such as 256Mi.
	// +kubebuilder:default="256Mi"
	// +optional
	MinimumFree *resource.Quantity `json:"minimumFree,omitempty"`
}

// NoSpaceRecovery is how the controller ends the alarm NOSPACE.
type NoSpaceRecovery struct {
	// KeepRevisions is how many of the newest revisions to keep; the history before
	// them is dropped. Watches and reads of older revisions end.
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepRevisions *int64 `json:"keepRevisions,omitempty"`
	// MaximumQuotaBackendBytes is up to which size the controller may raise the quota
	// if the data itself fills it, such as 8Gi: as far as twice the quota and 512Mi
	// fit on the members' claims. Raising it restarts the members one by one.
	// Without it the controller never raises the quota.
	// +optional
	MaximumQuotaBackendBytes *resource.Quantity `json:"maximumQuotaBackendBytes,omitempty"`
}

// SpaceStatus is what the controller knows of the space of the members'
// databases.
type SpaceStatus struct {
	// Schedule is the schedule to which NextDefragmentation belongs.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// NextDefragmentation is when the schedule asks for the next defragmentation; in
	// the past while that is not complete.
	// +optional
	NextDefragmentation *metav1.Time `json:"nextDefragmentation,omitempty"`
	// Defragmenting is the member that is being defragmented.
	// +optional
	Defragmenting *DefragmentingMember `json:"defragmenting,omitempty"`
	// NoSpace is set while the alarm NOSPACE is raised.
	// +optional
	NoSpace *NoSpaceStatus `json:"noSpace,omitempty"`
	// RaisedQuota is the quota that the controller has set instead of the spec's.
	// +optional
	RaisedQuota *RaisedQuota `json:"raisedQuota,omitempty"`
	// Failure is what failed last. The controller tries again after five minutes.
	// +optional
	Failure *SpaceFailure `json:"failure,omitempty"`
	// Deferred is true after the controller took over running members from a release
	// without spec.space, until spec.space changes: it restarts no member for it.
	// +optional
	Deferred bool `json:"deferred,omitempty"`
	// DeferredRevision is a hash of the quota, the compaction and the timeout that the
	// spec had then; empty without any.
	// +optional
	DeferredRevision string `json:"deferredRevision,omitempty"`
}

// DefragmentingMember is a member that is being defragmented.
type DefragmentingMember struct {
	// Member is the name of the member.
	Member string `json:"member"`
	// Until is when the controller gives up waiting.
	Until metav1.Time `json:"until"`
}

// NoSpaceStatus is how far the alarm NOSPACE is dealt with.
type NoSpaceStatus struct {
	// Since is when the controller saw the alarm.
	Since metav1.Time `json:"since"`
	// CompactedRevision is the revision before which the controller dropped the
	// history; 0 if there was none to drop.
	// +optional
	CompactedRevision int64 `json:"compactedRevision,omitempty"`
	// Compacted is when it did that.
	// +optional
	Compacted *metav1.Time `json:"compacted,omitempty"`
}

// RaisedQuota is a quota above the spec's.
type RaisedQuota struct {
	// From is the quota in the spec when it was raised. Once the spec has another
	// one, that holds.
	From resource.Quantity `json:"from"`
	// To is the quota of the members.
	To resource.Quantity `json:"to"`
}

// SpaceFailure is a step that failed.
type SpaceFailure struct {
	// Reason is the cause in a word.
	Reason string `json:"reason"`
	// Message names the step, and explains the cause.
	Message string `json:"message"`
	// Time is when it failed.
	Time metav1.Time `json:"time"`
}
