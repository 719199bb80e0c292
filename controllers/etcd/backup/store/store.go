// Package store keeps backups: in S3 and what speaks it, or in a folder, of this
// process or of one at the other end of a connection.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Store keeps objects by key. All of them stream: how much memory they take
// does not depend on the size of an object.
type Store interface {
	// Put saves all that r reads, or nothing where r or the store fails.
	Put(ctx context.Context, key string, about About, r io.Reader) error
	// Get opens an object.
	Get(ctx context.Context, key string) (io.ReadCloser, *Object, error)
	// Stat says what is known about an object.
	Stat(ctx context.Context, key string) (*Object, error)
	// List lists the objects whose keys begin with the prefix.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// An Object is something that is kept.
type Object struct {
	Key  string
	Size int64
	// Modified is when the store took it.
	Modified time.Time
	// About is what was said about it; List does not tell.
	About About
}

// About says what a backup is of. Every part may be missing: others write
// backups, too.
type About struct {
	// Revision is one that the backup holds: what was written up to it is there.
	Revision int64
	// Version is that of the member.
	Version string
	// Taken is when it was begun.
	Taken time.Time
	// Maker is the UID of the EtcdBackup.
	Maker string
}

// A Reason is why a store could not do what it was asked, in a word for
// conditions.
type Reason string

// The reasons.
const (
	// NotFound: there is no object of that key.
	NotFound Reason = "BackupNotFound"
	// NoBucket: there is no such bucket or folder.
	NoBucket Reason = "BucketNotFound"
	// NoClaim: there is no such PersistentVolumeClaim.
	NoClaim Reason = "MissingClaim"
	// Denied: the credentials are wrong, or may not do it.
	Denied Reason = "StorageDenied"
	// BadSecret: the Secret does not say who to be.
	BadSecret Reason = "BadSecret"
	// Unavailable: the store was not reached or did not answer as it should; it
	// may the next time.
	Unavailable Reason = "StorageUnavailable"
)

// An Error is one of the store, rather than of what was to be saved.
type Error struct {
	Reason Reason
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what the store said.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of an error of a store, or "".
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func failed(reason Reason, format string, args ...any) error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}
