package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// sized are states between which resources change, alone or with other fields.
func sized() []states.State {
	return states.Of([][]states.Variant{
		{states.Size(3), states.Size(1)}, {states.Version("3.6.16"), states.Version("3.7.3")}, {states.Claims("1Gi"), states.Claims("")},
		{states.CPU("1"), states.CPU("2"), states.Label("a")},
	})
}

// TestChangesOfResources_WithFaults_Converge also lets API servers refuse, and the
// first two members be on nodes that are full or too small for ever.
func TestChangesOfResources_WithFaults_Converge(t *testing.T) {
	for name, fixed := range map[string]bool{"in place": false, "by an API server that changes none in place": true} {
		t.Run(name, func(t *testing.T) {
			k := newWalk()
			k.focus, k.begin = []string{"node"}, func(w *world) {
				w.fixed = fixed
				for i, n := range w.members {
					w.full[n.name], w.small[n.name] = i == 0, i == 1
				}
			}
			for seed := range uint64(150) {
				if err := k.sequence(seed+1, sized()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestResources_ChangeInPlace follows a cluster whose members are settled.
func TestResources_ChangeInPlace(t *testing.T) {
	all := states.Of([][]states.Variant{{states.Size(3)}, {states.Version("3.6.16")}, {states.Claims("1Gi"), states.Claims("")}, {states.CPU("1"), states.CPU("2")}})
	for _, storage := range []string{"1Gi", "no claims"} {
		var from, to states.State
		for _, s := range all {
			if strings.Contains(s.Name, storage) {
				from, to = to, s
			}
		}
		for name, c := range map[string]struct {
			edit func(w *world, first string)
			same int // pods that stay
		}{
			"nodes with room":                       {func(*world, string) {}, 3},
			"an API server that changes none":       {func(w *world, _ string) { w.fixed = true }, 0},
			"a node that is too small":              {func(w *world, first string) { w.small[first] = true }, 2},
			"a node that has no room for some time": {func(w *world, first string) { w.full[first] = true }, 2},
		} {
			t.Run(name+", "+storage, func(t *testing.T) {
				w := settledWorld(from.Spec)
				w.run(3, func(int) {})
				before := map[string]string{}
				for name, p := range w.pods {
					before[name] = p.uid
				}
				c.edit(w, slices.Min(slices.Collect(maps.Keys(before))))
				w.spec = to.Spec
				w.events = nil
				w.run(100, func(int) {})
				if err := w.settled(); err != nil || w.violated != nil {
					t.Fatalf("%v, %v%s", err, w.violated, w.trace())
				}
				same := 0
				for name, p := range w.pods {
					if before[name] == p.uid {
						same++
					}
				}
				if same != c.same {
					t.Errorf("%d pods are the same, want %d: %s", same, c.same, strings.Join(w.events, "\n"))
				}
				if c.same == 3 && len(w.events) != 6 {
					t.Errorf("the steps are %s", strings.Join(w.events, "\n"))
				}
			})
		}
	}
}

// TestResizing_OneAtATime compares the step for each state of a change.
func TestResizing_OneAtATime(t *testing.T) {
	one, two := spec(claims("1Gi")), spec(claims("1Gi"))
	states.Of([][]states.Variant{{states.CPU("2")}})[0].Spec.Pod.Resources.DeepCopyInto(&two.Pod.Resources)
	at := func(ago time.Duration, edit func(*plan.Resizing)) plan.Resizing {
		r := plan.Resizing{Asked: true, Since: start.Add(-ago)}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	for name, c := range map[string]struct {
		resizing []plan.Resizing
		step     string
	}{
		"none can change in place":      {make([]plan.Resizing, 3), "recreate the pod of c-2 on its claim: its pod does not match the spec"},
		"all can":                       {[]plan.Resizing{{Possible: true}, {Possible: true}, {Possible: true}}, "change the resources of c-2 in place: only they differ from the spec"},
		"the second is asked":           {[]plan.Resizing{{Possible: true}, at(4*time.Minute, nil), {Possible: true}}, "waits until the kubelet of c-2 has changed its resources"},
		"the second is done":            {[]plan.Resizing{{Possible: true}, at(time.Minute, func(r *plan.Resizing) { r.Done = true }), {Possible: true}}, "change the resources of c-2 in place: its kubelet has changed them"},
		"it is done late":               {[]plan.Resizing{{Possible: true}, at(time.Hour, func(r *plan.Resizing) { r.Done = true }), {Possible: true}}, "change the resources of c-2 in place: its kubelet has changed them"},
		"it takes five minutes":         {[]plan.Resizing{{}, at(5*time.Minute, nil), {}}, "recreate the pod of c-2 on its claim: its pod does not match the spec, and its resources cannot change in place: the kubelet has not changed them for 5m0s"},
		"the clock jumped back":         {[]plan.Resizing{{}, at(-time.Hour, nil), {}}, "recreate the pod of c-2 on its claim: its pod does not match the spec, and its resources cannot change in place: the kubelet has not changed them for 5m0s"},
		"it is infeasible":              {[]plan.Resizing{{}, at(time.Second, func(r *plan.Resizing) { r.Refused = "the kubelet says: Infeasible" }), {}}, "recreate the pod of c-2 on its claim: its pod does not match the spec, and its resources cannot change in place: the kubelet says: Infeasible"},
		"one is infeasible, others can": {[]plan.Resizing{{Possible: true}, at(time.Second, func(r *plan.Resizing) { r.Refused = "the kubelet says: Infeasible" }), {Possible: true}}, "recreate the pod of c-2 on its claim: its pod does not match the spec, and its resources cannot change in place: the kubelet says: Infeasible"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := plan.Settled("c", one)
			seen.Now = start
			for i := range seen.Members {
				seen.Members[i].Pod.Resize = c.resizing[i]
			}
			p := plan.Next(two, &seen)
			if diff := cmp.Diff(c.step, p.Now().String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
