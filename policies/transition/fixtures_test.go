package transition_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/transition"
)

// fixtures reads testdata/<row>/{old,new}.yaml: one or more documents, paired
// by position.
func fixtures(t *testing.T, row string) (pairs [][2][]byte) {
	t.Helper()
	var docs [2][][]byte
	for i, name := range []string{"old.yaml", "new.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", row, name))
		if err != nil {
			t.Fatalf("row %s lacks its pair: %v", row, err)
		}
		for _, doc := range bytes.Split(data, []byte("\n---\n")) {
			json, err := yaml.YAMLToJSONStrict(doc)
			if err != nil {
				t.Fatalf("%s/%s: %v", row, name, err)
			}
			docs[i] = append(docs[i], json)
		}
	}
	if len(docs[0]) != len(docs[1]) {
		t.Fatalf("row %s: %d old documents, %d new", row, len(docs[0]), len(docs[1]))
	}
	for i := range docs[0] {
		pairs = append(pairs, [2][]byte{docs[0][i], docs[1][i]})
	}
	return pairs
}

func TestEveryRowClassifiesItsFixtures(t *testing.T) {
	table := transition.All()
	for _, kind := range table.Kinds() {
		for _, row := range kind.Rows {
			t.Run(row.ID, func(t *testing.T) {
				pairs := fixtures(t, row.ID)
				for i, pair := range pairs {
					diff, err := table.Compare(pair[0], pair[1], transition.Options{})
					if err != nil {
						t.Fatal(err)
					}
					found := false
					for _, c := range diff.Changes {
						found = found || c.Row == row.ID
					}
					if !found {
						t.Errorf("pair %d: no change is classified by the row: %+v", i, diff.Changes)
					}
				}
			})
		}
	}
}

func TestEveryFixtureFolderHasARow(t *testing.T) {
	table := transition.All()
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if folder.Name() == "fuzz" {
			continue
		}
		if _, row := table.Row(folder.Name()); row == nil {
			t.Errorf("testdata/%s belongs to no row", folder.Name())
		}
	}
}
