package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// stored are states between which claims grow, alone or with other fields.
func stored() []states.State {
	return states.Of([][]states.Variant{
		{states.Size(3), states.Size(1)}, {states.Version("3.6.16"), states.Version("3.7.3")},
		{states.Claims("1Gi"), states.Claims("2Gi"), states.Claims("3Gi")}, {states.Label("a"), states.Label("b")},
	})
}

// TestGrowingClaims_WithFaults_Converge has some volumes grow at once, late, only
// for another pod, or never.
func TestGrowingClaims_WithFaults_Converge(t *testing.T) {
	for _, class := range []string{growing, rigid} {
		t.Run(class, func(t *testing.T) {
			k := newWalk()
			k.begin = func(w *world) {
				w.class = class
				first := w.ids // claims that are made later grow at once
				w.driven = func(c *claim) driver {
					n := 0
					for _, digit := range strings.TrimPrefix(c.uid, "uid-") {
						n = n*10 + int(digit-'0')
					}
					if n > first {
						return prompt
					}
					return []driver{prompt, late, never, infeasible, online, offline}[n%6]
				}
			}
			for seed := range uint64(200) {
				if err := k.sequence(seed+1, stored()); err != nil {
					t.Fatalf("seed %d: %v", seed+1, err)
				}
			}
			if err := k.pairs(stored(), []int{1, 3}, 331); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d runs, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, k.lost, k.stalled)
		})
	}
}

// TestClaims_Grow follows a cluster whose members are settled.
func TestClaims_Grow(t *testing.T) {
	from, to := spec(claims("1Gi")), spec(claims("2Gi"))
	for name, c := range map[string]struct {
		class      string
		driven     driver
		pods, same int // pods and claims that stay
	}{
		"at once":                 {growing, prompt, 3, 3},
		"late":                    {growing, late, 3, 3},
		"with their file systems": {growing, online, 3, 3},
		"only for other pods":     {growing, offline, 0, 3},
		"never":                   {growing, never, 0, 0},
		"not with this driver":    {growing, infeasible, 0, 0},
		"not with a class that does not allow it": {rigid, prompt, 0, 0},
		"not without a class":                     {"", prompt, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld(from)
			w.class = c.class
			w.driven = func(*claim) driver { return c.driven }
			w.run(3, func(int) {})
			pods, all := map[string]string{}, map[string]string{}
			for name, p := range w.pods {
				pods[name], all[name] = p.uid, w.claims[name].uid
			}
			w.spec = to
			w.events = nil
			w.run(200, func(int) {})
			if err := w.settled(); err != nil || w.violated != nil {
				t.Fatalf("%v, %v%s", err, w.violated, w.trace())
			}
			samePods, sameClaims := 0, 0
			for name, p := range w.pods {
				if pods[name] == p.uid {
					samePods++
				}
				if all[name] == w.claims[name].uid {
					sameClaims++
				}
			}
			if samePods != c.pods || sameClaims != c.same {
				t.Errorf("%d pods and %d claims are the same, want %d and %d:%s", samePods, sameClaims, c.pods, c.same, w.trace())
			}
		})
	}
}

// TestGrowing_OneAtATime compares the step for each state of a change. The first
// member leads.
func TestGrowing_OneAtATime(t *testing.T) {
	one, two := spec(claims("1Gi")), spec(claims("2Gi"))
	type growth = plan.Expansion
	possible := growth{Possible: true}
	asked := func(ago time.Duration, edits ...func(*growth)) growth {
		e := growth{Asked: true, Since: start.Add(-ago)}
		for _, edit := range edits {
			edit(&e)
		}
		return e
	}
	done := func(e *growth) { e.Done = true }
	infeasible := func(e *growth) { e.Refused = "its driver says: ControllerResizeInfeasible" }
	mounting := func(ago time.Duration, pod string) func(*growth) {
		return func(e *growth) { e.Mounting, e.MountingSince, e.PodThen = true, start.Add(-ago), pod }
	}
	rigid := growth{Refused: "its StorageClass rigid does not have allowVolumeExpansion: true"}
	replaces := func(member, why string) string {
		return "add (new 1) at 3.6.16 as a learner: to replace " + member + ", which does not match the spec" + why
	}
	for name, c := range map[string]struct {
		growth [3]growth
		step   string
	}{
		"no claim can":                                {[3]growth{}, replaces("c-1", "")},
		"all claims can":                              {[3]growth{possible, possible, possible}, "expand the claim of c-2: it has 1Gi, and only that differs from the spec"},
		"one already grows to less":                   {[3]growth{possible, possible, {Possible: true, Underway: true}}, "expand the claim of c-3: it has 1Gi, and only that differs from the spec"},
		"the leader's grows to less":                  {[3]growth{{Possible: true, Underway: true}, possible, possible}, "expand the claim of c-1: it has 1Gi, and only that differs from the spec"},
		"no class allows it":                          {[3]growth{rigid, rigid, rigid}, replaces("c-1", ", and whose claim cannot grow: its StorageClass rigid does not have allowVolumeExpansion: true")},
		"one class does not allow it":                 {[3]growth{possible, possible, rigid}, replaces("c-3", ", and whose claim cannot grow: its StorageClass rigid does not have allowVolumeExpansion: true")},
		"the second is asked":                         {[3]growth{possible, asked(14 * time.Minute), possible}, "waits until the volume of c-2 has grown to 2Gi"},
		"the second is done":                          {[3]growth{possible, asked(time.Minute, done), possible}, "expand the claim of c-2: its volume has grown"},
		"it is done late":                             {[3]growth{possible, asked(time.Hour, done), possible}, "expand the claim of c-2: its volume has grown"},
		"it takes too long":                           {[3]growth{possible, asked(15 * time.Minute), possible}, replaces("c-2", ", and whose claim cannot grow: its volume has not grown for 15m0s")},
		"the clock jumped back":                       {[3]growth{possible, asked(-time.Hour), possible}, replaces("c-2", ", and whose claim cannot grow: its volume has not grown for 15m0s")},
		"it is infeasible":                            {[3]growth{possible, asked(time.Second, infeasible), possible}, replaces("c-2", ", and whose claim cannot grow: its driver says: ControllerResizeInfeasible")},
		"another one is asked, and one is infeasible": {[3]growth{possible, asked(time.Second, infeasible), asked(time.Second)}, "waits until the volume of c-3 has grown to 2Gi"},
		"its file system is left":                     {[3]growth{possible, asked(14*time.Minute, func(e *growth) { e.Mounting = true }), possible}, "expand the claim of c-2: only its file system is left to grow"},
		"its file system grows":                       {[3]growth{possible, asked(time.Hour, mounting(time.Minute, "pod-2")), possible}, "waits until the node of c-2 has grown its file system to 2Gi"},
		"its file system does not":                    {[3]growth{possible, asked(time.Hour, mounting(2*time.Minute, "pod-2")), possible}, "recreate the pod of c-2 on its claim: its file system has not grown for 2m0s while the pod runs"},
		"the leader's does not":                       {[3]growth{asked(time.Hour, mounting(2*time.Minute, "pod-1")), possible, possible}, "move the leadership to c-2: c-1 leads, and is next"},
		"it does not for another pod":                 {[3]growth{possible, asked(time.Hour, mounting(14*time.Minute, "pod-before")), possible}, "waits until the node of c-2 has grown its file system to 2Gi"},
		"it never does":                               {[3]growth{possible, asked(time.Hour, mounting(15*time.Minute, "pod-before")), possible}, replaces("c-2", ", and whose claim cannot grow: its volume has not grown for 15m0s")},
	} {
		t.Run(name, func(t *testing.T) {
			seen := plan.Settled("c", one)
			seen.Now = start
			for i := range seen.Members {
				m := &seen.Members[i]
				m.Claim.Expansion, m.Pod.ID = c.growth[i], "pod-"+m.Name[2:]
				if m.Claim.Expansion.Asked {
					m.StorageRevision, m.Storage = etcd.StorageRevision(two), etcd.RequestedStorage(two)
				}
			}
			p := plan.Next(two, &seen)
			if diff := cmp.Diff(c.step, p.Now().String()); diff != "" {
				t.Error(diff)
			}
			if refused := strings.Contains(c.step, "cannot grow"); refused && !strings.HasPrefix(p.NotExpanding, "the claim of c-") {
				t.Errorf("it says %q of claims that do not grow", p.NotExpanding)
			}
		})
	}
}
