// Package store stores backups: in a folder; in bucket, in S3-compatible stores;
// and in either at the other end of a connection.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/usher-dev/usher/controllers/etcd/answer"
)

// A Store stores objects by key. All methods stream, so their memory does not
// depend on the size of an object.
type Store interface {
	// Put saves everything that r reads, or nothing if r or the store fails.
	Put(ctx context.Context, key string, about About, r io.Reader) error
	// Get opens an object.
	Get(ctx context.Context, key string) (io.ReadCloser, *Object, error)
	// Stat returns what is known about an object.
	Stat(ctx context.Context, key string) (*Object, error)
	// List lists the objects whose keys have the prefix.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete removes an object; it is not an error if the object does not exist.
	Delete(ctx context.Context, key string) error
}

// An Object is a stored object.
type Object struct {
	Key  string
	Size int64
	// Modified is when the store received it.
	Modified time.Time
	// About is its metadata; List does not return it.
	About About
}

// About describes the content of a backup. Every field may be missing: other
// programs write backups, too.
type About struct {
	// Revision is a revision in the backup: it contains all earlier writes.
	Revision int64
	// Version is the version of the member.
	Version string
	// Taken is when the backup started.
	Taken time.Time
	// Maker is the UID of the EtcdBackup.
	Maker string
}

// A Reason explains an error of a store, as a word for conditions.
type Reason string

// The reasons.
const (
	// NotFound: no object has that key.
	NotFound Reason = "BackupNotFound"
	// NoBucket: the bucket or folder does not exist.
	NoBucket Reason = "BucketNotFound"
	// NoClaim: the PersistentVolumeClaim does not exist.
	NoClaim Reason = "MissingClaim"
	// Denied: the credentials are wrong, or lack permission.
	Denied Reason = "StorageDenied"
	// BadSecret: the Secret has no valid credentials.
	BadSecret Reason = "BadSecret"
	// NoIdentity: the cloud gives a ServiceAccount no credentials.
	NoIdentity Reason = "IdentityDenied"
	// NoPod: the API server does not accept the pod that connects to the store.
	NoPod Reason = "PodRefused"
	// Unavailable: the store was not reached or did not answer properly; a retry
	// may succeed.
	Unavailable Reason = "StorageUnavailable"
	// Refused: usher's controller does not connect to the store's address.
	Refused Reason = "StoreRefused"
	// Unchecked: usher could not read to whom the store's address belongs, which is
	// not the fault of the object.
	Unchecked Reason = "EndpointsUnchecked"
)

// An Error is an error of the store, not of the saved data.
type Error struct {
	Reason Reason
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the store's error.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of an error of a store, or "".
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// Answered returns the error of a server's answer, which format and args must
// not contain.
func Answered(reason Reason, cause error, format string, args ...any) error {
	return &Error{Reason: reason, Err: answer.New(cause, format, args...)}
}

// Errorf returns the error of a store that did not answer.
func Errorf(reason Reason, format string, args ...any) error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}
