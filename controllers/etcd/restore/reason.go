package restore

import (
	"errors"
	"fmt"

	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
)

// ConditionRestored is the condition of an EtcdRestore: its reason is the phase,
// or why that does not end.
const ConditionRestored = "Restored"

// Reasons of the condition, in addition to the phases and those of package
// etcdbackup.
const (
	// ReasonMissingCluster: the EtcdCluster does not exist.
	ReasonMissingCluster = "MissingCluster"
	// ReasonRunning: the cluster works, and the user has not consented to replace it.
	ReasonRunning = "ClusterRunning"
	// ReasonHibernated: the cluster hibernates.
	ReasonHibernated = "ClusterHibernated"
	// ReasonTaken: another EtcdRestore has reserved the cluster.
	ReasonTaken = "OtherRestore"
	// ReasonVersion: the version of etcd cannot restore the backup.
	ReasonVersion = "VersionUnfit"
	// ReasonStarting: the restored member is starting.
	ReasonStarting = "SeedStarting"
	// ReasonUnproved: the restored member does not match the backup.
	ReasonUnproved = "SeedUnproved"
	// ReasonCredentials: the restored member, whose users are those of the backup,
	// refuses usher's client.
	ReasonCredentials = "MissingCredentials"
	// ReasonEnding: the old members are ending.
	ReasonEnding = "OldMembersEnding"
	// ReasonGrowing: members are being added.
	ReasonGrowing = "MembersStarting"
)

// A reasonError is why a phase does not end; waits is true if it will end by
// itself.
type reasonError struct {
	reason string
	waits  bool
	err    error
}

func (e *reasonError) Error() string { return e.err.Error() }
func (e *reasonError) Unwrap() error { return e.err }

func stop(reason, format string, args ...any) error {
	return &reasonError{reason: reason, err: fmt.Errorf(format, args...)}
}

func wait(reason, format string, args ...any) error {
	return &reasonError{reason: reason, waits: true, err: fmt.Errorf(format, args...)}
}

func waits(err error) bool {
	var known *reasonError
	return errors.As(err, &known) && known.waits || etcdbackup.Waits(err)
}

func reason(err error) string {
	var known *reasonError
	if errors.As(err, &known) {
		return known.reason
	}
	return etcdbackup.Reason(err)
}
