package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/snapshot"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/etcd"
)

// look reads the whole backup, and checks whether it fits the cluster and may
// replace it. Then a volume stays mounted.
func (c *Controller) look(ctx context.Context, a *attempt) error {
	err := c.examine(ctx, a)
	if err != nil && !waits(err) {
		return errors.Join(err, c.places.Close(ctx, a.EtcdRestore))
	}
	return err
}

func (c *Controller) examine(ctx context.Context, a *attempt) error {
	if other := a.cluster.Annotations[wellknown.AnnotationEtcdRestore]; other != "" && other != a.Name {
		return stop(ReasonTaken, "the EtcdRestore %s has reserved the cluster: wait for it, or delete it; if it does not exist, remove the annotation %s from the EtcdCluster", other, wellknown.AnnotationEtcdRestore)
	}
	if err := c.replaceable(ctx, a); err != nil {
		return err
	}
	if err := bumps(a.Spec.BumpRevision, a.cluster.Spec.Version); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	body, object, err := c.open(ctx, a.EtcdRestore)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := fits(object.About.Version, a.cluster.Spec.Version); err != nil {
		return err
	}
	read := snapshot.NewReader(body)
	if _, err := io.Copy(io.Discard, read); err != nil {
		return fmt.Errorf("reading the backup: %w", errors.Join(err, ctx.Err()))
	}
	a.Status.EtcdRevision = revisionOf(object)
	return nil
}

// open opens the backup.
func (c *Controller) open(ctx context.Context, r *etcdv1beta2.EtcdRestore) (io.ReadCloser, *store.Object, error) {
	lender, grace, err := etcdbackup.Lender(ctx, c.reader, r.Namespace, &r.Spec.BackupSource)
	if err != nil {
		return nil, nil, err
	}
	place, err := c.places.Open(ctx, r, r.Spec.BackupStorageType, &r.Spec.BackupSource, grace)
	if err != nil {
		return nil, nil, err
	}
	r.Status.Path = place.Path
	body, object, err := place.Store.Get(ctx, place.Key)
	if graced := place.Report(&r.Status.Conditions, r.Generation); graced != nil && !slices.Equal(graced, lender.Status.StoreGrace) {
		// The next use of the grace leads to the same addresses.
		was := lender.DeepCopy()
		lender.Status.StoreGrace = graced
		if err := c.client.Status().Patch(ctx, lender, client.MergeFrom(was)); err != nil {
			if body != nil {
				body.Close()
			}
			return nil, nil, fmt.Errorf("recording the addresses of the store in the EtcdBackup %s: %w", lender.Name, err)
		}
	}
	return body, object, err
}

// revisionOf returns the minimum revision of the backup; 0 if unknown.
func revisionOf(object *store.Object) int64 {
	if object.About.Revision != 0 {
		return object.About.Revision
	}
	return etcdbackup.RevisionIn(object.Key)
}

// bumpFrom is the first version whose etcdutl increases the revision.
var bumpFrom = etcd.Version{Major: 3, Minor: 5, Patch: 10}

// bumps reports whether etcd of that version can increase the revision by that
// much.
func bumps(by int64, wanted string) error {
	if by == 0 {
		return nil
	}
	if v, err := etcd.ParseVersion(wanted); err != nil || v.Compare(bumpFrom) < 0 {
		return stop(ReasonVersion, "bumpRevision is %d, and etcd %s cannot increase the revision: write version %s or later in the EtcdCluster, or remove bumpRevision", by, wanted, bumpFrom)
	}
	return nil
}

// fits reports whether a cluster of that version can restore a backup of that
// one: of the same minor version, or of the previous one.
func fits(saved, wanted string) error {
	if saved == "" {
		return nil // the version is unknown; the seed will show it
	}
	from, err := etcd.ParseVersion(saved)
	if err != nil {
		return nil //nolint:nilerr // treated as unknown
	}
	to, err := etcd.ParseVersion(wanted)
	if err != nil {
		return stop(ReasonVersion, "the EtcdCluster's version: %w", err)
	}
	if !to.Takes(from) {
		return stop(ReasonVersion, "the backup is from etcd %s, and the EtcdCluster asks for %s: write version %s, and upgrade after the restore", from, to, from)
	}
	return nil
}
