package related

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A world generates labels and selectors of a few keys and values, so that they
// often meet.
type world struct{ *rand.Rand }

func (w world) key() string   { return fmt.Sprintf("key%d", w.IntN(4)) }
func (w world) value() string { return fmt.Sprintf("value%d", w.IntN(3)) }

func (w world) set() map[string]string {
	set := map[string]string{}
	for range w.IntN(5) {
		set[w.key()] = w.value()
	}
	return set
}

func (w world) selector() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if w.IntN(2) == 0 {
		s.MatchLabels = w.set()
	}
	for range w.IntN(3) {
		r := metav1.LabelSelectorRequirement{Key: w.key()}
		switch w.IntN(4) {
		case 0:
			r.Operator = metav1.LabelSelectorOpExists
		case 1:
			r.Operator = metav1.LabelSelectorOpDoesNotExist
		case 2:
			r.Operator, r.Values = metav1.LabelSelectorOpNotIn, []string{w.value(), w.value()}
		default:
			r.Operator = metav1.LabelSelectorOpIn
			for range 1 + w.IntN(3) {
				r.Values = append(r.Values, w.value())
			}
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

// A workload is one as the API server stores it.
type workload struct {
	name string
	pods map[string]string
}

// selectedBy returns the names of the workloads that the API server's own
// implementation of selectors selects.
func selectedBy(t *testing.T, s *metav1.LabelSelector, all []workload) (names []string) {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if selector.Matches(labels.Set(w.pods)) {
			names = append(names, w.name)
		}
	}
	return names
}

// lookUp returns what an Index finds, and how many it compared of how many.
func lookUp(t *testing.T, x *Index, s *metav1.LabelSelector, limit int) (names []string, compared, of int) {
	t.Helper()
	selector, err := NewSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	compared, of = x.Selected(selector, limit, func(name string) { names = append(names, name) })
	return names, compared, of
}

// contains reports whether a list has all names of another, in the same order.
func contains(list, names []string) bool {
	for _, name := range list {
		if len(names) > 0 && names[0] == name {
			names = names[1:]
		}
	}
	return len(names) == 0
}

const rounds = 200

// TestIndex_FindsWhatSelectorsSelect compares lookups after generated changes
// with the API server's selectors.
func TestIndex_FindsWhatSelectorsSelect(t *testing.T) {
	for seed := range uint64(rounds) {
		w := world{rand.New(rand.NewPCG(seed, 0))}
		x, stored := &Index{}, map[string]map[string]string{}
		for range 100 {
			name := fmt.Sprintf("w%02d", w.IntN(40))
			if w.IntN(3) == 0 {
				delete(stored, name)
				if empty := x.Delete(name); empty != (len(stored) == 0) {
					t.Fatalf("seed %d: the Index is empty: %t, with %d objects", seed, empty, len(stored))
				}
				continue
			}
			stored[name] = w.set()
			x.Put(&Object{Name: name, Pods: LabelsOf(stored[name])})
		}
		var all []workload
		for name, pods := range stored {
			all = append(all, workload{name, pods})
			if o := x.Named(name); o == nil || o.Name != name {
				t.Fatalf("seed %d: %s is %v", seed, name, o)
			}
		}
		slices.SortFunc(all, func(a, b workload) int { return strings.Compare(a.name, b.name) })
		for range 20 {
			s := w.selector()
			want := selectedBy(t, s, all)
			got, compared, of := lookUp(t, x, s, len(all))
			if diff := cmp.Diff(want, got); diff != "" || compared != of {
				t.Fatalf("seed %d, %s, compared %d of %d (-want +got):\n%s", seed, metav1.FormatLabelSelector(s), compared, of, diff)
			}
			limit := w.IntN(10)
			some, compared, of := lookUp(t, x, s, limit)
			if compared != min(limit, of) || !contains(want, some) {
				t.Fatalf("seed %d, %s with limit %d: compared %d of %d and found %q of %q", seed, metav1.FormatLabelSelector(s), limit, compared, of, some, want)
			}
		}
	}
}

// TestNewIndex_KeepsTheOrderOfTheList with names that occur repeatedly.
func TestNewIndex_KeepsTheOrderOfTheList(t *testing.T) {
	for seed := range uint64(rounds) {
		w := world{rand.New(rand.NewPCG(seed, 1))}
		var all []workload
		var list []*Object
		for range 40 {
			one := workload{fmt.Sprintf("w%d", w.IntN(10)), w.set()}
			all, list = append(all, one), append(list, &Object{Name: one.name, Pods: LabelsOf(one.pods)})
		}
		x := NewIndex(list)
		for range 20 {
			s := w.selector()
			got, _, _ := lookUp(t, x, s, len(all))
			if diff := cmp.Diff(selectedBy(t, s, all), got); diff != "" {
				t.Fatalf("seed %d, %s (-want +got):\n%s", seed, metav1.FormatLabelSelector(s), diff)
			}
		}
	}
}

// TestIndex_ComparesWhatHasTheRarestLabel: a label of one's own is sufficient for
// a complete result among many workloads that share the other labels.
func TestIndex_ComparesWhatHasTheRarestLabel(t *testing.T) {
	x := &Index{}
	for i := range 1000 {
		x.Put(&Object{Name: fmt.Sprintf("w%04d", i), Pods: LabelsOf(map[string]string{
			"team": "one", "app": fmt.Sprint(i), "tier": []string{"web", "db"}[i%2], "zone": []string{"a", "b"}[i/500],
		})})
	}
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	both := expression("team", metav1.LabelSelectorOpExists)
	both.MatchLabels = map[string]string{"app": "7"}
	for name, tc := range map[string]struct {
		selector            metav1.LabelSelector
		found, compared, of int
	}{
		"its own label":              {metav1.LabelSelector{MatchLabels: map[string]string{"app": "7"}}, 1, 1, 1},
		"its own and a shared label": {metav1.LabelSelector{MatchLabels: map[string]string{"team": "one", "app": "999"}}, 1, 1, 1},
		"labels that none has":       {metav1.LabelSelector{MatchLabels: map[string]string{"team": "one", "app": "none"}}, 0, 0, 0},
		"labels that half have":      {metav1.LabelSelector{MatchLabels: map[string]string{"team": "one", "tier": "db"}}, 200, 200, 500},
		// Of equally rare labels the first is decisive: tier=db, of which the first 200
		// are among w0001 to w0399.
		"equally rare labels":  {metav1.LabelSelector{MatchLabels: map[string]string{"zone": "b", "tier": "db"}}, 0, 200, 500},
		"one label of several": {expression("app", metav1.LabelSelectorOpIn, "8", "3", "none", "3"), 2, 2, 2},
		"a shared label":       {metav1.LabelSelector{MatchLabels: map[string]string{"team": "one"}}, 200, 200, 1000},
		"NotIn":                {expression("tier", metav1.LabelSelectorOpNotIn, "db"), 100, 200, 1000},
		"Exists":               {expression("app", metav1.LabelSelectorOpExists), 200, 200, 1000},
		"its own and Exists":   {both, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 { // the order of a map varies
				names, compared, of := lookUp(t, x, &tc.selector, 200)
				if len(names) != tc.found || compared != tc.compared || of != tc.of {
					t.Fatalf("found %d, compared %d of %d; want %d, %d of %d", len(names), compared, of, tc.found, tc.compared, tc.of)
				}
			}
		})
	}
}

// TestIndex_FindsAutoscalersByTarget moves one to another target.
func TestIndex_FindsAutoscalersByTarget(t *testing.T) {
	x, web, db := &Index{}, Target{"Deployment", "web"}, Target{"StatefulSet", "db"}
	x.Put(&Object{Name: "second", Scales: web})
	x.Put(&Object{Name: "first", Scales: web})
	x.Put(&Object{Name: "moved", Scales: web})
	x.Put(&Object{Name: "moved", Scales: db})
	for target, want := range map[Target][]string{web: {"first", "second"}, db: {"moved"}, {"Deployment", "db"}: nil} {
		if diff := cmp.Diff(want, x.Autoscalers(target)); diff != "" {
			t.Errorf("autoscalers of %v (-want +got):\n%s", target, diff)
		}
	}
	x.Delete("first")
	if diff := cmp.Diff([]string{"second"}, x.Autoscalers(web)); diff != "" {
		t.Errorf("after one is gone (-want +got):\n%s", diff)
	}
}
