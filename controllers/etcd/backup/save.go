package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/backup/snapshot"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// A saved is a backup that was saved and verified.
type saved struct {
	path, version, sha256 string
	cluster               uint64
	revision, size        int64
	source                *etcdv1beta2.BackupSource
}

// save makes one backup, and then deletes the surplus ones. surplus is the
// error of the deletion.
func save(ctx context.Context, places *Places, endpoints *Reach, b *etcdv1beta2.EtcdBackup, now time.Time) (done *saved, surplusErr, err error) {
	if scheduled(b) {
		if _, err := schedule(b); err != nil {
			return nil, nil, err
		}
	}
	place, err := places.Open(ctx, b, b.Spec.StorageType, &b.Spec.BackupSource, graceOf(b))
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if graced := place.Report(&b.Status.Conditions, b.Generation); graced != nil {
			b.Status.StoreGrace = graced
		}
	}()
	if err := checkEndpoints(b.Spec.EtcdEndpoints); err != nil {
		return nil, nil, err
	}
	secure, err := ClientTLS(ctx, places.Reader, b.Namespace, b.Spec.ClientTLSSecret)
	if err != nil {
		return nil, nil, err
	}
	dial, err := endpoints.dialer(ctx, b.Namespace, b.Spec.EtcdEndpoints)
	if err != nil {
		return nil, nil, err
	}
	known, err := credentials(ctx, places.Reader, b.Namespace, b.Spec.AuthSecret)
	if err != nil {
		return nil, nil, err
	}
	w := way{secure, dial, known}
	members, err := ask(ctx, w, b.Spec.EtcdEndpoints)
	if err != nil {
		return nil, nil, err
	}
	m, err := choose(members)
	if err != nil {
		return nil, nil, err
	}
	etcd, m, err := hold(ctx, w, m)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = etcd.Close() }()

	about := store.About{Revision: m.revision, Version: m.version, Taken: now, Maker: string(b.UID)}
	key := place.Key
	if periodic(b) {
		key = periodicKey(place.Key, m.revision, now)
	}
	if err := free(ctx, place, key, b); err != nil {
		return nil, nil, err
	}
	done, err = stream(ctx, etcd, m, place, key, about)
	if err != nil {
		return nil, nil, err
	}
	return done, retain(ctx, places.Reader, place, b, key), nil
}

// free reports whether the key is unused. That of a single backup may be left
// over from another attempt, which never overwrites another EtcdBackup's. A
// periodic backup writes to a new key at each attempt, unless somebody set the
// clock back to the same second.
func free(ctx context.Context, place *Place, key string, b *etcdv1beta2.EtcdBackup) error {
	is, err := place.Store.Stat(ctx, key)
	switch {
	case store.ReasonOf(err) == store.NotFound:
		return nil
	case err != nil:
		return err
	case periodic(b):
		return fault(ReasonTaken, "%s already exists: usher tries again with another time in the name", place.name(key))
	case is.About.Maker != string(b.UID):
		return fault(ReasonTaken, "%s already exists, from %s: write another path, or delete it", place.name(key), is.Modified.UTC().Format(time.RFC3339))
	}
	return nil
}

// stream sends a member's snapshot to the store, and verifies it.
func stream(ctx context.Context, etcd *clientv3.Client, m member, place *Place, key string, about store.About) (*saved, error) {
	response, err := etcd.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, fault(ReasonUnreachable, "requesting a snapshot of %s: %w", m.endpoint, errors.Join(etcderrors.Explain(err), ctx.Err()))
	}
	defer response.Snapshot.Close()
	sent := snapshot.NewReader(streamed{response.Snapshot})
	if err := place.Store.Put(ctx, key, about, sent); err != nil {
		return nil, fmt.Errorf("after %d bytes of the snapshot of %s: %w", sent.Size(), m.endpoint, errors.Join(err, ctx.Err()))
	}
	if !sent.Whole() {
		return nil, fault(ReasonDamaged, "the store accepted only %d bytes of the snapshot of %s", sent.Size(), m.endpoint)
	}
	if err := verify(ctx, place, key, sent); err != nil {
		return nil, err
	}
	return &saved{
		path: place.name(key), source: place.source(key), cluster: m.cluster, version: m.version,
		sha256: sent.SHA256(), revision: about.Revision, size: sent.Size(),
	}, nil
}

// streamed is a snapshot on its way from a member.
type streamed struct{ io.Reader }

// Read implements io.Reader.
func (s streamed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = etcderrors.Explain(err)
	}
	return n, err
}

// verify reads the stored backup, and deletes it if it differs from the
// snapshot: a backup that cannot be restored must not count as one.
func verify(ctx context.Context, place *Place, key string, sent *snapshot.Reader) error {
	r, _, err := place.Store.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("verifying the backup: %w", err)
	}
	defer r.Close()
	back := snapshot.NewReader(r)
	_, err = io.Copy(io.Discard, back)
	switch {
	case err == nil && back.SHA256() == sent.SHA256():
		return nil
	case err != nil && !errors.Is(err, snapshot.ErrDamaged):
		return fmt.Errorf("verifying the backup, after %d of %d bytes: %w", back.Size(), sent.Size(), errors.Join(err, ctx.Err()))
	case err == nil:
		err = fmt.Errorf("%w: its SHA-256 is %[3]s instead of %[2]s", snapshot.ErrDamaged, sent.SHA256(), back.SHA256())
	}
	return errors.Join(fmt.Errorf("the stored backup differs from the snapshot and is deleted: %w", err), place.Store.Delete(ctx, key))
}
