package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/transition"
)

const rowFixtures = "../../policies/transition/testdata"

// TestEveryTransitionIsAsTheServerHasIt creates each row's old object and
// applies the new one. A row of a later version of Kubernetes does not apply: what
// usher says for the server's version is compared.
func TestEveryTransitionIsAsTheServerHasIt(t *testing.T) {
	c := newCluster(t)
	storageClass(t, c)
	table := transition.All()
	for _, kind := range table.Kinds() {
		for _, row := range kind.Rows {
			t.Run(row.ID, func(t *testing.T) {
				for i, pair := range rowPairs(t, row.ID) {
					old, new := named(pair[0], row.ID, i), named(pair[1], row.ID, i)
					live, err := c.create(t, old)
					if err != nil {
						t.Fatalf("creating old %d: %v", i, err)
					}
					stored, refusal := c.apply(t, old, new, live)
					if later(row.Since) && refusal == nil && len(lost(new.Object, stored.Object)) > 0 {
						continue // the row is about a field that this server drops
					}
					switch {
					case later(row.Since):
					case refusal == nil && row.RefusedBy == transition.Server:
						t.Errorf("pair %d: the server accepts what the row says it refuses", i)
					case refusal != nil && row.RefusedBy != transition.Server:
						t.Errorf("pair %d: the server refuses what the row says it accepts: %v", i, refusal)
					}
					diff, err := table.CompareObjects(withStatus(live, old), merged(t, table, old, new, live), ofServer())
					if err != nil {
						t.Fatal(err)
					}
					if got := diff.RefusedBy(transition.Server); got != (refusal != nil) {
						t.Errorf("pair %d: compared with the live object, refused by the server: %t, by usher: %t; %+v", i, refusal != nil, got, diff.Changes)
					}
				}
			})
		}
	}
}

// later reports whether a version is later than the server's.
func later(since string) bool {
	return since != "" && serverVersion.LessThan(version.MustParseGeneric(since))
}

// ofServer compares for the server's version.
func ofServer() transition.Options {
	return transition.Options{Server: transition.Version{Major: int(serverVersion.Major()), Minor: int(serverVersion.Minor())}}
}

// withStatus keeps a fixture's status if the server dropped some of it.
func withStatus(live, old *unstructured.Unstructured) map[string]any {
	if status, ok := old.Object["status"]; ok {
		live = live.DeepCopy()
		live.Object["status"] = status
	}
	return live.Object
}

func rowPairs(t *testing.T, row string) (pairs [][2]*unstructured.Unstructured) {
	t.Helper()
	old := documents(t, filepath.Join(rowFixtures, row, "old.yaml"))
	new := documents(t, filepath.Join(rowFixtures, row, "new.yaml"))
	if len(old) != len(new) {
		t.Fatalf("%d old documents, %d new", len(old), len(new))
	}
	for i := range old {
		pairs = append(pairs, [2]*unstructured.Unstructured{old[i], new[i]})
	}
	return pairs
}

func documents(t *testing.T, file string) (docs []*unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split(data, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		json, err := yaml.YAMLToJSONStrict(part)
		if err == nil {
			err = o.UnmarshalJSON(json)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		docs = append(docs, o)
	}
	return docs
}

// named gives an object a unique name: claims cannot be deleted, and the next
// pair must not find them.
func named(o *unstructured.Unstructured, prefix string, n int) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetName(fmt.Sprintf("%s-%d", strings.TrimSuffix(prefix[:min(len(prefix), 40)], "-"), n))
	return o
}

func storageClass(t *testing.T, c cluster) {
	t.Helper()
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata":    map[string]any{"name": "expandable"},
		"provisioner": "example.com/none", "allowVolumeExpansion": true,
	}}
	_, err := c.of(class).Create(t.Context(), class, metav1.CreateOptions{})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}
}
