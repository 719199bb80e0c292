package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/policies/transition"
)

// diffed is what usher diff -o json says of one object.
type diffed struct {
	Action, Assumes string
	Outcome         transition.Outcome
	Changes         []transition.Change
}

// TestDiff_OldWithoutAStatus_NothingSevereBecomesGreen compares the pair of every
// row from recreate on with the status of the old object and without: what the
// row refuses or loses must not look harmless because the status is missing,
// unless the output names what it assumes.
func TestDiff_OldWithoutAStatus_NothingSevereBecomesGreen(t *testing.T) {
	unknown := []string{"job-ttl-finished", "etcd-storage-drop"}
	for _, kind := range transition.All().Kinds() {
		for _, row := range kind.Rows {
			if !row.Outcome.AtLeast(transition.Recreate) {
				continue
			}
			t.Run(row.ID, func(t *testing.T) {
				for _, pair := range pairs(t, row.ID) {
					o := compared(t, pair[0], pair[1])
					byRow := func(c transition.Change) bool { return c.Row == row.ID && c.Outcome == row.Outcome }
					if !slices.ContainsFunc(o.Changes, byRow) {
						t.Errorf("with its status: %+v", o.Changes)
					}
					delete(pair[0], "status")
					o = compared(t, pair[0], pair[1])
					if !o.Outcome.AtLeast(transition.Recreate) && o.Assumes == "" {
						t.Errorf("without its status: %s, and the output names no assumption: %+v", o.Outcome, o.Changes)
					}
					if got, want := o.Outcome == transition.Unknown, slices.Contains(unknown, row.ID); got != want {
						t.Errorf("without its status: unknown %t, want %t: %+v", got, want, o.Changes)
					}
				}
			})
		}
	}
}

// compared returns what usher diff says of a pair.
func compared(t *testing.T, old, new map[string]any) diffed {
	t.Helper()
	write := func(name string, object map[string]any) string {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return writeFile(t, name, string(text))
	}
	status, out, errs := invoke("", "diff", write("old.json", old), write("new.json", new), "-o", "json")
	var report struct{ Objects []diffed }
	if err := json.Unmarshal([]byte(out), &report); err != nil || errs != "" || len(report.Objects) != 1 {
		t.Fatalf("status %d, %v: %s%s", status, err, out, errs)
	}
	if o := report.Objects[0]; (status == cli.Failed) != o.Outcome.AtLeast(transition.Recreate) {
		t.Errorf("status %d, outcome %s", status, o.Outcome)
	}
	return report.Objects[0]
}

// pairs reads the old and the new objects of a row.
func pairs(t *testing.T, row string) (all [][2]map[string]any) {
	t.Helper()
	var objects [2][]map[string]any
	for i, name := range []string{"old.yaml", "new.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../policies/transition/testdata", row, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range bytes.Split(text, []byte("\n---\n")) {
			var object map[string]any
			if err := yaml.Unmarshal(part, &object); err != nil {
				t.Fatal(err)
			}
			objects[i] = append(objects[i], object)
		}
	}
	for i := range objects[0] {
		all = append(all, [2]map[string]any{objects[0][i], objects[1][i]})
	}
	return all
}

// TestDiff_ClaimShrinks_IsRefusedUnlessTheStatusAllowsIt compares a claim that
// shrinks with what is known of the volume.
func TestDiff_ClaimShrinks_IsRefusedUnlessTheStatusAllowsIt(t *testing.T) {
	claim := func(size, status string) map[string]any {
		object := map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "u"}, "spec": map[string]any{
			"accessModes": []string{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": size}},
		}}
		if status != "" {
			object["status"] = json.RawMessage(status)
		}
		return object
	}
	for name, tc := range map[string]struct {
		status string
		want   transition.Outcome
		harm   string
	}{
		"without a status":                {"", transition.Refused, "volumes cannot shrink: the data beyond the new size would be lost"},
		"with an empty status":            {`{}`, transition.Refused, "volumes cannot shrink: the data beyond the new size would be lost"},
		"bound, and the capacity unknown": {`{"phase": "Bound"}`, transition.Refused, "volumes cannot shrink: the data beyond the new size would be lost"},
		"bound, with that capacity":       {`{"phase": "Bound", "capacity": {"storage": "3Gi"}}`, transition.Refused, "volumes cannot shrink: the data beyond the new size would be lost"},
		"after an expansion failed":       {`{"phase": "Bound", "capacity": {"storage": "1Gi"}}`, transition.InPlace, "recovers from an expansion that the storage cannot provide"},
	} {
		got := compared(t, claim("3Gi", tc.status), claim("2Gi", ""))
		if got.Outcome != tc.want || len(got.Changes) != 1 || got.Changes[0].Harm != tc.harm {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
