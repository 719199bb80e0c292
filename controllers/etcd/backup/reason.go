package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/usher-dev/usher/controllers/etcd/backup/snapshot"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/volume"
)

// ConditionSaved is the condition of an EtcdBackup with the result of the last
// backup; ConditionRetained with the result of the cleanup.
const (
	ConditionSaved    = "Saved"
	ConditionRetained = "Retained"
)

// Reasons of the conditions, in addition to those of package store.
const (
	// ReasonSaved: the backup was saved and verified.
	ReasonSaved = "Saved"
	// ReasonInvalid: the spec is invalid.
	ReasonInvalid = "InvalidSpec"
	// ReasonUnsupported: the storage type is not supported.
	ReasonUnsupported = "UnsupportedStorage"
	// ReasonMissingSecret: a Secret does not exist.
	ReasonMissingSecret = "MissingSecret"
	// ReasonStarting: the pod that mounts a volume has not connected yet.
	ReasonStarting = "VolumeStarting"
	// ReasonPodStarting: the pod that connects to a store under a ServiceAccount has
	// not connected to usher yet.
	ReasonPodStarting = "PodStarting"
	// ReasonUnreachable: no member of the cluster can be backed up.
	ReasonUnreachable = "EtcdUnreachable"
	// ReasonUnchecked: usher could not read the addresses of the namespace, which
	// is not the fault of the EtcdBackup.
	ReasonUnchecked = "EndpointsUnchecked"
	// ReasonTaken: the path is in use.
	ReasonTaken = "PathTaken"
	// ReasonDamaged: the snapshot or the stored backup is incomplete.
	ReasonDamaged = "SnapshotDamaged"
	// ReasonTimeout: the backup timed out.
	ReasonTimeout = "Timeout"
	// ReasonFailed: anything else.
	ReasonFailed = "Failed"
	// ReasonClock: a backup seems to be newer than the one just made, so that
	// none is deleted.
	ReasonClock = "ClockWrong"
	// ReasonNotListed: the store does not list the backup just made, so that none
	// is deleted.
	ReasonNotListed = "BackupNotListed"
	// ReasonRetained: only the requested number of backups is left.
	ReasonRetained = "Retained"
)

// A reasonError is an error with a reason for conditions.
type reasonError struct {
	reason string
	err    error
}

func (e *reasonError) Error() string { return e.err.Error() }
func (e *reasonError) Unwrap() error { return e.err }

func fault(reason, format string, args ...any) error {
	return &reasonError{reason, fmt.Errorf(format, args...)}
}

// Reason returns the reason of an error, for conditions.
func Reason(err error) string {
	var known *reasonError
	var pending *volume.Pending
	switch {
	case errors.As(err, &known):
		return known.reason
	case errors.As(err, &pending):
		if pending.Bucket {
			return ReasonPodStarting
		}
		return ReasonStarting
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonTimeout
	case errors.Is(err, snapshot.ErrDamaged):
		return ReasonDamaged
	case store.ReasonOf(err) != "":
		return string(store.ReasonOf(err))
	}
	return ReasonFailed
}

// Waits reports whether an error only means that a pod has not connected yet.
func Waits(err error) bool {
	var pending *volume.Pending
	return errors.As(err, &pending)
}

// hopeless reports whether another attempt would fail again, until the spec
// changes.
func hopeless(reason string) bool { return reason == ReasonInvalid || reason == ReasonUnsupported }
