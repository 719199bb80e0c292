package backup

import (
	"fmt"
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

func TestAsManyBackupsAreKeptAsAskedFor(t *testing.T) {
	all := make([]Kept, 7)
	for i := range all {
		all[i].Key = fmt.Sprint(i)
	}
	for keep, want := range map[int]int{0: 0, -1: 0, 1: 6, 5: 2, 7: 0, 8: 0} {
		got := surplus(all, keep)
		if len(got) != want || (want > 0 && got[0].Key != fmt.Sprint(keep)) {
			t.Errorf("keeping %d leaves %v over", keep, keys(got))
		}
	}
}
