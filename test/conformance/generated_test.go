package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/transition"
)

const generatedSeed = 1

// TestGeneratedTransitionsAgreeWithTheServer changes one to three fields of
// valid objects and compares whether usher and the server refuse the change. It
// skips objects that the server would not even create.
func TestGeneratedTransitionsAgreeWithTheServer(t *testing.T) {
	c := newCluster(t)
	storageClass(t, c)
	table := transition.Kubernetes()
	known := knownDisagreements(t)
	r := rand.New(rand.NewPCG(generatedSeed, generatedSeed))
	bases := generatedBases(t, table)

	var score tally
	for n := 0; score.pairs < generatedPairs; n++ {
		if n > 4*generatedPairs {
			t.Fatalf("only %d of %d pairs are valid", score.pairs, n)
		}
		base := pick(bases, r)
		old, new := mutated(base, r, n), mutated(base, r, n)
		if c.valid(t, old) != nil || c.valid(t, new) != nil {
			score.invalid++
			continue
		}
		live, err := c.create(t, old)
		if err != nil {
			t.Fatalf("creating a valid object: %v", err)
		}
		score.pairs++
		updated, refusal := c.apply(t, old, new, live)
		diff, err := table.CompareObjects(old.Object, new.Object, ofServer())
		if err != nil {
			t.Fatal(err)
		}
		c.remove(t, live)
		score.judge(t, known, "manifests", diff, refusal, old, new)
		complete, err := table.CompareObjects(live.Object, merged(t, table, old, new, live), ofServer())
		if err != nil {
			t.Fatal(err)
		}
		score.judge(t, known, "live", complete, refusal, old, new)
		if updated != nil {
			// The webhook's input: both objects as the server completed them.
			if d, err := table.CompareObjects(live.Object, updated.Object, ofServer()); err != nil || d.RefusedBy(transition.Server) {
				t.Errorf("%s: the server accepted the change, usher says it refuses it: %v %+v", old.GetName(), err, d)
			}
		}
	}
	score.print(t)
}

// TestDefaultsAreNotAChange compares manifests with what the server makes of them.
func TestDefaultsAreNotAChange(t *testing.T) {
	c := newCluster(t)
	storageClass(t, c)
	table := transition.Kubernetes()
	r := rand.New(rand.NewPCG(generatedSeed, 2))
	bases := generatedBases(t, table)
	for n := range 300 {
		o := mutated(pick(bases, r), r, n)
		o.SetName("defaults-" + o.GetName())
		if c.valid(t, o) != nil {
			continue
		}
		live, err := c.create(t, o)
		if err != nil {
			t.Fatal(err)
		}
		diff, err := table.CompareObjects(o.Object, merged(t, table, o, o, live), ofServer())
		if err != nil {
			t.Fatal(err)
		}
		c.remove(t, live)
		for _, change := range diff.Changes {
			if !allocated(o.GetKind(), change.Path) {
				t.Errorf("%s %s: %s: %v → %v is the server's doing, not a change", o.GetKind(), o.GetName(), change.Path, change.From, change.To)
			}
		}
	}
}

// allocated reports whether the server sets a field from its own state, which a
// comparison of manifests cannot know.
func allocated(kind, path string) bool {
	switch kind {
	case "PersistentVolumeClaim":
		return path == "metadata.finalizers"
	case "Service":
		return slices.Contains([]string{"spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy", "spec.healthCheckNodePort",
			"spec.ports[0].nodePort", "spec.ports[1].nodePort"}, path)
	case "Job":
		return path == "spec.selector" || slices.Contains([]string{
			"spec.selector.matchLabels[batch.kubernetes.io/controller-uid]",
			"spec.template.metadata.labels[batch.kubernetes.io/controller-uid]", "spec.template.metadata.labels[controller-uid]",
			"spec.template.metadata.labels[batch.kubernetes.io/job-name]", "spec.template.metadata.labels[job-name]",
			"metadata.labels", "metadata.labels[app]", "metadata.labels[tier]", "metadata.labels[queue]",
			"metadata.labels[batch.kubernetes.io/controller-uid]", "metadata.labels[controller-uid]",
			"metadata.labels[batch.kubernetes.io/job-name]", "metadata.labels[job-name]"}, path)
	}
	return false
}

// pick gives every kind the same probability, however many rows it has.
func pick(bases [][]*unstructured.Unstructured, r *rand.Rand) *unstructured.Unstructured {
	ofKind := bases[r.IntN(len(bases))]
	return ofKind[r.IntN(len(ofKind))]
}

// generatedBases returns the old objects of all rows, by kind.
func generatedBases(t *testing.T, table *transition.Table) (bases [][]*unstructured.Unstructured) {
	t.Helper()
	for _, kind := range table.Kinds() {
		var ofKind []*unstructured.Unstructured
		for _, row := range kind.Rows {
			for _, pair := range rowPairs(t, row.ID) {
				ofKind = append(ofKind, pair[0])
			}
		}
		bases = append(bases, ofKind)
	}
	return bases
}

func mutated(base *unstructured.Unstructured, r *rand.Rand, n int) *unstructured.Unstructured {
	o := base.DeepCopy()
	o.SetName(fmt.Sprintf("generated-%d", n))
	ms := mutations(o.GetKind())
	for range 1 + r.IntN(3) {
		ms[r.IntN(len(ms))].apply(o.Object, r)
	}
	// Values are shared between objects; the copy severs them.
	return o.DeepCopy()
}

// A tally counts agreement, overall and by the server's cause.
type tally struct {
	pairs, invalid int
	judged, agreed int
	causes         map[string][2]int // agreed, judged
	known          map[string]int
}

func (s *tally) judge(t *testing.T, known map[string]string, view string, d *transition.Diff, refusal error, old, new *unstructured.Unstructured) {
	t.Helper()
	if s.causes == nil {
		s.causes, s.known = map[string][2]int{}, map[string]int{}
	}
	s.judged++
	why := "accepted"
	if refusal != nil {
		why = old.GetKind() + " " + cause(refusal)
	}
	count := s.causes[why]
	count[1]++
	if d.RefusedBy(transition.Server) == (refusal != nil) {
		s.agreed++
		count[0]++
	} else if key := view + ": " + why; known[key] != "" {
		s.known[key]++
	} else {
		t.Errorf("%q: usher says %+v\nold %s\nnew %s", key, d.Changes, marshal(t, old), marshal(t, new))
	}
	s.causes[why] = count
}

func (s *tally) print(t *testing.T) {
	t.Logf("%d pairs (%d more were invalid on their own), each as manifests and against the live object", s.pairs, s.invalid)
	t.Logf("agreement: %d of %d, %.1f%%", s.agreed, s.judged, 100*float64(s.agreed)/float64(s.judged))
	for _, why := range slices.Sorted(maps.Keys(s.causes)) {
		t.Logf("  %3d of %3d  %s", s.causes[why][0], s.causes[why][1], why)
	}
	for _, key := range slices.Sorted(maps.Keys(s.known)) {
		t.Logf("known: %d × %s", s.known[key], key)
	}
}

// knownDisagreements maps a view and the server's cause to the reason why usher
// does not see it.
func knownDisagreements(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/transitions-known.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	if err := yaml.UnmarshalStrict(data, &known); err != nil {
		t.Fatal(err)
	}
	return known
}
