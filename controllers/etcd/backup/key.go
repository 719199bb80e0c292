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

// keyTime is the format of the time in a periodic backup's key, in UTC.
const keyTime = "2006-01-02-15:04:05"

// periodicKey returns the key of one of the backups below a path, in the format
// used since 2018, so that older backups are found, too.
func periodicKey(path string, revision int64, taken time.Time) string {
	return fmt.Sprintf("%s_v%d_%s", path, revision, taken.UTC().Format(keyTime))
}

// A Kept is one of the backups below a path.
type Kept struct {
	store.Object
	// Revision and Taken are the revision and time in its key.
	Revision int64
	Taken    time.Time
}

// parseKey parses a key from periodicKey; it rejects any other.
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
// The time at which the store received a backup decides which is newer, and then
// the time in the key: the store's clock is the same for all keys, while the
// clock of the controller, which the keys have, may be set back. The revision
// decides only between two keys of one second: after a restore, or in a cluster
// formed again, revisions are lower than those of earlier backups.
func Below(path string, objects []store.Object) []Kept {
	var all []Kept
	for _, o := range objects {
		if revision, taken, ok := parseKey(path, o.Key); ok {
			all = append(all, Kept{o, revision, taken})
		}
	}
	slices.SortStableFunc(all, func(a, b Kept) int {
		return cmp.Or(b.Modified.Compare(a.Modified), b.Taken.Compare(a.Taken), cmp.Compare(b.Revision, a.Revision))
	})
	return all
}

// RevisionIn returns the revision in the key of a periodic backup, or 0.
func RevisionIn(key string) int64 {
	if at := strings.LastIndex(key, "_v"); at >= 0 {
		if revision, _, ok := parseKey(key[:at], key); ok {
			return revision
		}
	}
	return 0
}
