package transition_test

import (
	"bytes"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/transition"
)

// FuzzCompare: whatever the two objects contain, Compare returns, an object
// does not differ from itself, and every change has an outcome.
func FuzzCompare(f *testing.F) {
	table := transition.All()
	for _, kind := range table.Kinds() {
		for _, row := range kind.Rows {
			var pair [2][]byte
			for i, name := range []string{"old.yaml", "new.yaml"} {
				data, err := os.ReadFile("testdata/" + row.ID + "/" + name)
				if err != nil {
					f.Fatal(err)
				}
				first, _, _ := bytes.Cut(data, []byte("\n---\n"))
				if pair[i], err = yaml.YAMLToJSONStrict(first); err != nil {
					f.Fatal(err)
				}
			}
			f.Add(pair[0], pair[1])
		}
	}
	f.Fuzz(func(t *testing.T, old, new []byte) {
		diff, err := table.Compare(old, new, transition.Options{})
		if err != nil {
			return
		}
		for _, c := range diff.Changes {
			if c.Path == "" || !c.Outcome.AtLeast(transition.InPlace) {
				t.Errorf("change without path or outcome: %+v", c)
			}
		}
		for _, object := range [][]byte{old, new} {
			diff, err := table.Compare(object, object, transition.Options{})
			if err != nil {
				t.Fatalf("comparing an object with itself: %v", err)
			}
			if len(diff.Changes) > 0 {
				t.Errorf("an object differs from itself: %+v", diff.Changes)
			}
		}
	})
}
