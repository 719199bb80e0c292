package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// keyTime is how a periodic backup's key tells its time, in UTC.
const keyTime = "2006-01-02-15:04:05"

// periodicKey is the key of one of the backups below a path, as it has been
// since 2018: so that those made before are found, too.
func periodicKey(path string, revision int64, taken time.Time) string {
	return fmt.Sprintf("%s_v%d_%s", path, revision, taken.UTC().Format(keyTime))
}

// A Kept is one of the backups below a path.
type Kept struct {
	store.Object
	// Revision and Taken are those in its key.
	Revision int64
	Taken    time.Time
}

// parseKey reads a key that periodicKey wrote; anything else is none of ours.
func parseKey(path, key string) (revision int64, taken time.Time, ok bool) {
	rest, found := strings.CutPrefix(key, path+"_v")
	if !found {
		return 0, time.Time{}, false
	}
	number, date, found := strings.Cut(rest, "_")
	if !found {
		return 0, time.Time{}, false
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	if err != nil || revision < 0 || strconv.FormatInt(revision, 10) != number {
		return 0, time.Time{}, false
	}
	taken, err = time.Parse(keyTime, date)
	return revision, taken, err == nil
}

// Below returns the backups below a path, the newest first.
//
// A newer one is one that was taken later. The revision decides between two of
// the same second only: after a cluster was restored its revisions are lower
// than those of the backups made before, and deleting by revision would keep
// the old ones and delete the new.
func Below(path string, objects []store.Object) []Kept {
	var all []Kept
	for _, o := range objects {
		if revision, taken, ok := parseKey(path, o.Key); ok {
			all = append(all, Kept{o, revision, taken})
		}
	}
	slices.SortStableFunc(all, func(a, b Kept) int {
		return cmp.Or(b.Taken.Compare(a.Taken), cmp.Compare(b.Revision, a.Revision), b.Modified.Compare(a.Modified))
	})
	return all
}

// surplus are the backups that are more than are kept; 0 keeps all.
func surplus(newestFirst []Kept, keep int) []Kept {
	if keep <= 0 || len(newestFirst) <= keep {
		return nil
	}
	return newestFirst[keep:]
}

// RevisionIn is the revision that the key of a periodic backup tells; 0 where it
// tells none.
func RevisionIn(key string) int64 {
	if at := strings.LastIndex(key, "_v"); at >= 0 {
		if revision, _, ok := parseKey(key[:at], key); ok {
			return revision
		}
	}
	return 0
}
