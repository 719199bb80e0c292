package backup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

func keys(kept []Kept) []string {
	var all []string
	for _, k := range kept {
		all = append(all, k.Key)
	}
	return all
}

func TestTheNewestBackupIsTheOneTakenLast(t *testing.T) {
	for name, tc := range map[string]struct {
		keys []string
		want []string
	}{
		"revisions that sort the other way as text": {
			[]string{"b_v9_2026-01-01-00:00:00", "b_v10_2026-01-01-00:01:00", "b_v100_2026-01-01-00:02:00"},
			[]string{"b_v100_2026-01-01-00:02:00", "b_v10_2026-01-01-00:01:00", "b_v9_2026-01-01-00:00:00"},
		},
		"lower revisions after a restore": {
			[]string{"b_v900_2026-01-01-00:00:00", "b_v901_2026-01-01-00:01:00", "b_v12_2026-01-01-00:02:00"},
			[]string{"b_v12_2026-01-01-00:02:00", "b_v901_2026-01-01-00:01:00", "b_v900_2026-01-01-00:00:00"},
		},
		"two of the same second": {
			[]string{"b_v9_2026-01-01-00:00:00", "b_v10_2026-01-01-00:00:00"},
			[]string{"b_v10_2026-01-01-00:00:00", "b_v9_2026-01-01-00:00:00"},
		},
		"what is not below the path, or not ours": {
			[]string{
				"b", "b_v", "b_v1", "b_v1_", "b_v1_yesterday", "b_vx_2026-01-01-00:00:00", "b_v01_2026-01-01-00:00:00", "b_v+1_2026-01-01-00:00:00",
				"b_v1_2026-13-01-00:00:00", "b_v1_2026-01-01-00:00:00.bak", "bb_v1_2026-01-01-00:00:00", "b_v-1_2026-01-01-00:00:00",
				"b_v2_2026-01-01-00:00:00",
			},
			[]string{"b_v2_2026-01-01-00:00:00"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []store.Object
			for _, key := range tc.keys {
				objects = append(objects, store.Object{Key: key})
			}
			if diff := cmp.Diff(tc.want, keys(Below("b", objects))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAKeyIsReadAsItWasWritten(t *testing.T) {
	taken := time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("east", 3600))
	key := periodicKey("team/a_v1/backup", 1234567, taken)
	if want := "team/a_v1/backup_v1234567_2026-02-03-03:05:06"; key != want {
		t.Errorf("key is %s, want %s", key, want)
	}
	revision, read, ok := parseKey("team/a_v1/backup", key)
	if !ok || revision != 1234567 || !read.Equal(taken) {
		t.Errorf("read %d, %s, %t", revision, read, ok)
	}
}

// second returns a time of that second.
func second(n int) time.Time { return time.Unix(int64(n), 0).UTC() }

// put returns a backup that the store received in one second, and whose key has
// another one.
func put(received, taken int, revision int64) store.Object {
	return store.Object{Key: periodicKey("b", revision, second(taken)), Modified: second(received)}
}

func TestTheStoresClockOrdersBackupsAndThenTheKey(t *testing.T) {
	for name, tc := range map[string]struct{ older, newer store.Object }{
		"the store's clock against the key":                {put(1, 9, 9), put(2, 8, 8)},
		"the key, received in one second":                  {put(1, 8, 9), put(1, 9, 8)},
		"the revision, in two keys of one second":          {put(1, 8, 8), put(1, 8, 9)},
		"the store's clock against the revision":           {put(1, 8, 9), put(2, 8, 8)},
		"the store's clock against the key and a revision": {put(1, 9, 9), put(2, 8, 7)},
	} {
		t.Run(name, func(t *testing.T) {
			want := []string{tc.newer.Key, tc.older.Key}
			for _, objects := range [][]store.Object{{tc.older, tc.newer}, {tc.newer, tc.older}} {
				if diff := cmp.Diff(want, keys(Below("b", objects))); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestAsManyBackupsAreKeptAsAskedFor(t *testing.T) {
	var objects []store.Object
	for i := range 7 {
		objects = append(objects, put(i, i, int64(i)))
	}
	all := Below("b", objects)
	for keep, want := range map[int]int{0: 0, -1: 0, 1: 6, 5: 2, 7: 0, 8: 0} {
		got, err := surplus(all, all[0].Key, keep)
		if err != nil {
			t.Errorf("keeping %d: %v", keep, err)
		}
		if diff := cmp.Diff(keys(all[7-want:]), keys(got)); diff != "" {
			t.Errorf("keeping %d: -want +got:\n%s", keep, diff)
		}
	}
}

func TestTheBackupJustMadeIsNeverSurplus(t *testing.T) {
	made := put(5, 5, 1)
	for name, tc := range map[string]struct {
		others []store.Object
		keep   int
		want   []string
		reason string
	}{
		"as the first":                         {nil, 1, nil, ""},
		"with a lower revision in the second":  {[]store.Object{put(5, 5, 9), put(4, 4, 9)}, 1, []string{put(5, 5, 9).Key, put(4, 4, 9).Key}, ""},
		"older than a key":                     {[]store.Object{put(4, 6, 9), put(3, 3, 9)}, 1, nil, ReasonClock},
		"older than a key, with room":          {[]store.Object{put(4, 6, 9)}, 9, nil, ReasonClock},
		"received before another":              {[]store.Object{put(6, 4, 9), put(3, 3, 9)}, 1, nil, ReasonClock},
		"received before the oldest key":       {[]store.Object{put(4, 4, 9), put(6, 1, 9)}, 1, nil, ReasonClock},
		"a fraction of a second before others": {[]store.Object{{Key: put(5, 4, 9).Key, Modified: second(5).Add(time.Millisecond)}}, 1, []string{put(5, 4, 9).Key}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := surplus(Below("b", append(tc.others, made)), made.Key, tc.keep)
			if diff := cmp.Diff(tc.want, keys(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if tc.reason == "" != (err == nil) || err != nil && Reason(err) != tc.reason {
				t.Errorf("error is %v", err)
			}
		})
	}
	if got, err := surplus(Below("b", []store.Object{put(1, 1, 1), put(2, 2, 2)}), made.Key, 1); got != nil || err == nil || Reason(err) != ReasonNotListed {
		t.Errorf("if the store does not list it, surplus are %v, %v", keys(got), err)
	}
}

func TestAWrongClockIsExplained(t *testing.T) {
	ahead, made := put(1, 100, 9), put(2, 50, 10)
	const want = "usher deleted no backup, because a clock is or was wrong: by the times in the keys, b_v9_1970-01-01-00:01:40 (1970-01-01 00:01:40) is newer than " +
		"the backup just made, b_v10_1970-01-01-00:00:50 (1970-01-01 00:00:50): correct the clock of usher's controller, " +
		"then move the backup from the path if its time is in the future; if two EtcdBackups share the path, give each its own"
	if _, err := surplus(Below("b", []store.Object{ahead, made}), made.Key, 1); err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
}
