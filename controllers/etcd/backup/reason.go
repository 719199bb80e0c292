package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/usher-dev/usher/controllers/etcd/backup/snapshot"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/volume"
)

// ConditionSaved is the condition of an EtcdBackup that says what became of the
// last one; ConditionRetained whether those that are too many were deleted.
const (
	ConditionSaved    = "Saved"
	ConditionRetained = "Retained"
)

// Reasons of the conditions, besides those of package store.
const (
	// ReasonSaved: it was saved, read again and found whole.
	ReasonSaved = "Saved"
	// ReasonInvalid: the spec cannot be acted on.
	ReasonInvalid = "InvalidSpec"
	// ReasonUnsupported: backups are not kept in that kind of place.
	ReasonUnsupported = "UnsupportedStorage"
	// ReasonMissingSecret: a Secret is not there.
	ReasonMissingSecret = "MissingSecret"
	// ReasonStarting: the pod that mounts a volume has not called yet.
	ReasonStarting = "VolumeStarting"
	// ReasonUnreachable: no member of the cluster can be saved.
	ReasonUnreachable = "EtcdUnreachable"
	// ReasonTaken: something else is at the path.
	ReasonTaken = "PathTaken"
	// ReasonDamaged: what was sent or saved is not whole.
	ReasonDamaged = "SnapshotDamaged"
	// ReasonTimeout: it took longer than it may.
	ReasonTimeout = "Timeout"
	// ReasonFailed: anything else.
	ReasonFailed = "Failed"
	// ReasonRetained: as many are kept as are wanted.
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

// Reason is that of an error, for conditions.
func Reason(err error) string {
	var known *reasonError
	switch {
	case errors.As(err, &known):
		return known.reason
	case Waits(err):
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

// Waits says whether nothing went wrong: a volume is not mounted yet.
func Waits(err error) bool {
	var pending *volume.Pending
	return errors.As(err, &pending)
}

// hopeless says whether an attempt can only fail again, until the spec is
// changed.
func hopeless(reason string) bool { return reason == ReasonInvalid || reason == ReasonUnsupported }
