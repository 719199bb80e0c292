package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// surplus returns the backups beyond the number to keep, 0 for all, after the
// backup with the key written was made. That one is never among them.
//
// Deletions rely on clocks: the store's orders the backups, and the controller's
// says when each was made. If either makes the backup just made older than
// another, surplus returns an error and no backup.
func surplus(newestFirst []Kept, written string, keep int) ([]Kept, error) {
	if keep <= 0 {
		return nil, nil
	}
	at := slices.IndexFunc(newestFirst, func(k Kept) bool { return k.Key == written })
	if at < 0 {
		return nil, fault(ReasonNotListed, "usher deleted no backup, because the store does not list the one just made")
	}
	made := newestFirst[at]
	others := slices.Delete(slices.Clone(newestFirst), at, at+1)
	for _, other := range others {
		if other.Taken.After(made.Taken) {
			return nil, clockWrong(made, other, "by the times in the keys", other.Taken, made.Taken, "usher's controller")
		}
		if received, last := other.Modified.Truncate(time.Second), made.Modified.Truncate(time.Second); received.After(last) {
			return nil, clockWrong(made, other, "by the times at which the store received them", received, last, "the store")
		}
	}
	return others[min(keep-1, len(others)):], nil
}

// clockWrong describes why another backup seems to be newer than the one just
// made, and what to do.
func clockWrong(made, other Kept, by string, otherAt, madeAt time.Time, of string) error {
	return fault(ReasonClock, "usher deleted no backup, because a clock is or was wrong: %s, %s (%s) is newer than the backup just made, %s (%s): "+
		"correct the clock of %s, then move the backup from the path if its time is in the future; if two EtcdBackups share the path, give each its own",
		by, other.Key, otherAt.UTC().Format(time.DateTime), made.Key, madeAt.UTC().Format(time.DateTime), of)
}

// retain deletes the surplus backups after the one with the key written was
// made, except those that an EtcdRestore still needs.
func retain(ctx context.Context, reader client.Reader, place *Place, b *etcdv1beta2.EtcdBackup, written string) error {
	if !periodic(b) || b.Spec.BackupPolicy.MaxBackups <= 0 {
		return nil
	}
	objects, err := place.Store.List(ctx, place.Key+"_v")
	if err != nil {
		return err
	}
	tooMany, err := surplus(Below(place.Key, objects), written, b.Spec.BackupPolicy.MaxBackups)
	if err != nil || len(tooMany) == 0 {
		return err
	}
	wanted, err := wantedBack(ctx, reader)
	if err != nil {
		return err
	}
	for _, old := range tooMany {
		if wanted.Has(place.name(old.Key)) {
			continue
		}
		if err := place.Store.Delete(ctx, old.Key); err != nil {
			return err
		}
	}
	return nil
}

// wantedBack returns the paths of the backups that EtcdRestores still need, in
// every namespace, since several may share a bucket. It compares paths without
// the endpoint or claim, which have several notations: keeping one backup too
// many does no harm.
func wantedBack(ctx context.Context, reader client.Reader) (sets.Set[string], error) {
	var all etcdv1beta2.EtcdRestoreList
	if err := reader.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing the backups that EtcdRestores use: %w", err)
	}
	paths := sets.New[string]()
	for i := range all.Items {
		r := &all.Items[i]
		if r.Status.Succeeded {
			continue
		}
		switch from := &r.Spec.BackupSource; {
		case from.S3 != nil:
			paths.Insert(from.S3.Path)
		case from.PersistentVolume != nil:
			paths.Insert(from.PersistentVolume.Path)
		}
	}
	return paths, nil
}
