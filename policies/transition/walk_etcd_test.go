package transition_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/transition"
)

// TestEveryPairOfEtcdStatesHasAnOutcome walks every ordered pair of states: a
// row classifies each changed field, and what usher or the server refuses is
// what the controller would refuse, too.
func TestEveryPairOfEtcdStatesHasAnOutcome(t *testing.T) {
	table := transition.All()
	axes := states.Axes()
	axes[0] = axes[0][:3] // up, down, and down to one
	all := states.Of(axes)
	objects := make([]map[string]any, len(all))
	for i, s := range all {
		objects[i] = object(t, s.Spec)
	}
	pairs := 0
	outcomes := map[transition.Outcome]int{}
	for i, from := range all {
		seen := plan.Settled("c", from.Spec)
		for j, to := range all {
			if i == j {
				continue
			}
			pairs++
			diff, err := table.CompareObjects(objects[i], objects[j], transition.Options{})
			if err != nil {
				t.Fatal(err)
			}
			outcomes[diff.Outcome()]++
			var refused []string
			for _, c := range diff.Changes {
				if c.Row == "" {
					t.Fatalf("%s to %s: %s has no row", from.Name, to.Name, c.Path)
				}
				if c.RefusedBy != "" && c.Level == finding.Invariant && !slices.Contains(refused, c.Row) {
					refused = append(refused, c.Row)
				}
			}
			var want []string
			for _, r := range plan.Refusals(to.Spec, &seen) {
				want = append(want, r.Row)
			}
			slices.Sort(refused)
			slices.Sort(want)
			if !slices.Equal(refused, want) {
				t.Fatalf("%s to %s: the table refuses %v, the controller %v", from.Name, to.Name, refused, want)
			}
			if len(diff.Changes) == 0 {
				t.Fatalf("%s to %s: no change is seen", from.Name, to.Name)
			}
		}
	}
	t.Logf("%d pairs: %v", pairs, outcomes)
}

func object(t *testing.T, spec *v1beta2.ClusterSpec) map[string]any {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"apiVersion": v1beta2.GroupVersion.String(), "kind": "EtcdCluster", "metadata": map[string]any{"name": "c"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}
