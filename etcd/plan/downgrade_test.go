package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// TestMake_Downgrade plans for people.
func TestMake_Downgrade(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		want     []string
	}{
		"one minor version": {"3.7.3", "3.6.16", []string{
			"have etcd prepare the downgrade to 3.6",
			"wait until the cluster version is 3.6: c-1 has not converted its data",
			"have c-2 run 3.6.16",
			"have c-3 run 3.6.16",
			"move the leadership to c-2: c-1 leads, and is next",
			"have c-1 run 3.6.16",
		}},
		"to a version that does not report its format": {"3.6.16", "3.5.35", []string{
			"have etcd prepare the downgrade to 3.5",
			"wait until the cluster version is 3.5: c-1 has not converted its data",
			"have c-2 run 3.5.35",
			"have c-3 run 3.5.35",
			"move the leadership to c-2: c-1 leads, and is next",
			"have c-1 run 3.5.35",
		}},
		"an older patch": {"3.6.16", "3.6.12", []string{
			"have c-2 run 3.6.12",
			"have c-3 run 3.6.12",
			"move the leadership to c-2: c-1 leads, and is next",
			"have c-1 run 3.6.12",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := plan.Settled("c", spec(version(tc.from)))
			var got []string
			for _, s := range plan.Make(spec(version(tc.to)), &seen).Steps {
				got = append(got, s.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNext_Downgrade decides in the middle of a downgrade of three members.
func TestNext_Downgrade(t *testing.T) {
	v35, v36, v37 := etcd.Version{Major: 3, Minor: 5}, etcd.Version{Major: 3, Minor: 6}, etcd.Version{Major: 3, Minor: 7}
	runs := func(i int, v string) func(*plan.Observation) {
		return func(o *plan.Observation) {
			m := &o.Members[i]
			m.Version, m.Target = etcd.ReadVersion(v), etcd.ReadVersion(v)
			if m.Version.Minor == 5 {
				m.Format = etcd.Version{}
			}
		}
	}
	prepared := func(v etcd.Version) func(*plan.Observation) {
		return func(o *plan.Observation) {
			for i := range o.Members {
				o.Members[i].Format = v
			}
			o.StorageVersion = v
		}
	}
	enabled := func(v etcd.Version) func(*plan.Observation) {
		return func(o *plan.Observation) { o.Downgrade = v }
	}
	absent := func(o *plan.Observation) { o.Members = o.Members[:2] }
	for name, tc := range map[string]struct {
		from, to string
		seen     []func(*plan.Observation)
		want     string
	}{
		"etcd has not lowered the cluster version": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35)},
			"wait until the cluster version is 3.5: c-1 has not converted its data"},
		"one member has not converted its data": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35), func(o *plan.Observation) { o.Members[2].Format = v36 }},
			"wait until the cluster version is 3.5: c-3 has not converted its data"},
		"one member does not say what its data is": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35), func(o *plan.Observation) { o.Members[1].Format = etcd.Version{} }},
			"wait until the cluster version is 3.5: c-2 has not converted its data"},
		"all have converted it": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35)},
			"have c-2 run 3.5.35"},
		"one runs the older version": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35), runs(1, "3.5.35")},
			"have c-3 run 3.5.35"},
		"etcd does not say that it began": {"3.6.16", "3.5.35", []func(*plan.Observation){prepared(v35), runs(1, "3.5.35")},
			"have c-3 run 3.5.35"},
		"all run it, and etcd has not ended it": {"3.7.3", "3.6.16", []func(*plan.Observation){enabled(v36), prepared(v36), runs(0, "3.6.16"), runs(1, "3.6.16"), runs(2, "3.6.16")},
			""},
		"the spec takes it back before any member runs it": {"3.7.3", "3.7.3", []func(*plan.Observation){enabled(v36), prepared(v36)},
			"have etcd end the downgrade to 3.6: the members are to run 3.7.3"},
		"the spec takes it back while one member runs it": {"3.7.3", "3.7.3", []func(*plan.Observation){enabled(v36), prepared(v36), runs(1, "3.6.16")},
			"have etcd end the downgrade to 3.6: the members are to run 3.7.3"},
		"taken back, and ended": {"3.7.3", "3.7.3", []func(*plan.Observation){prepared(v36), runs(1, "3.6.16"), func(o *plan.Observation) { o.ClusterVersion = v36 }},
			"have c-2 run 3.7.3"},
		"a person began another one": {"3.7.3", "3.7.2", []func(*plan.Observation){enabled(v36)},
			"have etcd end the downgrade to 3.6: the members are to run 3.7.2"},
		"a member is missing": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35), absent},
			"have etcd end the downgrade to 3.5: new members cannot join until then"},
		"a member is missing, and it is ended": {"3.6.16", "3.5.35", []func(*plan.Observation){absent},
			"add (new 1) at 3.6.16 as a learner: 2 of 3 members vote"},
		"a learner has not joined": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35), func(o *plan.Observation) {
			o.Members[2].Learner, o.Members[2].Started, o.Members[2].Answers = true, false, false
		}}, "have etcd end the downgrade to 3.5: new members cannot join until then"},
		"an upgrade is taken back": {"3.5.35", "3.5.35", []func(*plan.Observation){runs(1, "3.6.16"), func(o *plan.Observation) { o.Members[1].Format = v35 }},
			"have c-2 run 3.5.35"},
		"an upgrade is taken back, whose member says another format": {"3.6.16", "3.6.16", []func(*plan.Observation){runs(1, "3.7.3"), func(o *plan.Observation) { o.Members[1].Format = v37 }},
			"wait until the cluster version is 3.6: c-2 has not converted its data"},
		"another patch after a wrong one": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35), func(o *plan.Observation) {
			m := &o.Members[1]
			m.Target, m.Answers, m.Pod.Ready, m.Unresponsive = etcd.Version{Major: 3, Minor: 5, Patch: 99}, false, false, &plan.Unresponsive{According: plan.Client | plan.Kubelet}
		}}, "have c-2 run 3.5.35: it does not answer, and was told to run 3.5.99"},
		"a pod is gone whose member has not been told": {"3.6.16", "3.5.35", []func(*plan.Observation){enabled(v35), prepared(v35), func(o *plan.Observation) {
			m := &o.Members[1]
			m.Pod, m.Answers, m.Unresponsive = plan.Pod{}, false, &plan.Unresponsive{According: plan.Client | plan.Kubelet}
		}}, "restart c-2 on its data"},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(version(tc.from), claims("1Gi")))
			for _, change := range tc.seen {
				change(&o)
			}
			got := ""
			step := next(&o, version(tc.to), claims("1Gi"))
			if step != nil {
				got = step.String()
			}
			if got != tc.want {
				t.Errorf("the step is %q, want %q", got, tc.want)
			}
			if step != nil && step.Action == plan.Recover && step.Version != o.Members[1].Version {
				t.Errorf("%s comes back with %s", step.Member, step.Version)
			}
		})
	}
}

// TestNext_DowngradeWithALearner ends the downgrade also if no voter is missing.
func TestNext_DowngradeWithALearner(t *testing.T) {
	o := plan.Settled("c", spec(version("3.6.16"), claims("1Gi")))
	o.Downgrade = etcd.Version{Major: 3, Minor: 5}
	o.Members[2].Learner, o.Members[2].Started, o.Members[2].Answers = true, false, false
	step := next(&o, version("3.5.35"), claims("1Gi"), size(2))
	if step == nil || step.Action != plan.CancelDowngrade {
		t.Errorf("%+v", step)
	}
}

// TestNext_DowngradeOfAFrozenCluster does not end a downgrade for a member that is not
// added: the controller would begin and end it in turn.
func TestNext_DowngradeOfAFrozenCluster(t *testing.T) {
	o := plan.Settled("c", spec(version("3.6.16"), claims("1Gi")))
	o.Members, o.Downgrade = o.Members[:2], etcd.Version{Major: 3, Minor: 5}
	for i := range o.Members {
		o.Members[i].Format = o.Downgrade
	}
	step := next(&o, version("3.5.35"), claims("512Mi"))
	if step == nil || step.Action != plan.Upgrade {
		t.Errorf("%+v", step)
	}
}

// TestMake_AfterADowngrade_MembersJoin replaces members once etcd has ended the
// downgrade by itself.
func TestMake_AfterADowngrade_MembersJoin(t *testing.T) {
	seen := plan.Settled("c", spec(version("3.6.16"), claims("1Gi")))
	joined := 0
	for _, s := range plan.Make(spec(version("3.5.35"), claims("2Gi")), &seen).Steps {
		switch s.Action {
		case plan.AddLearner:
			joined++
		case plan.CancelDowngrade:
			t.Errorf("%s", s)
		}
	}
	if joined != 3 {
		t.Errorf("%d members join", joined)
	}
}

func TestRefusals_Downgrade(t *testing.T) {
	for name, tc := range map[string]struct {
		runs []string
		to   string
		want string // the row, and the path
	}{
		"the previous minor version":               {[]string{"3.7.3", "3.7.3", "3.7.3"}, "3.6.16", ""},
		"an older patch":                           {[]string{"3.5.35", "3.5.35", "3.5.35"}, "3.5.20", ""},
		"two minor versions":                       {[]string{"3.7.3", "3.7.3", "3.7.3"}, "3.5.35", "etcd-version-skip 3.7.3 → 3.6.16 → 3.5.35"},
		"two from the newest, one from the oldest": {[]string{"3.7.3", "3.6.16", "3.6.16"}, "3.5.35", "etcd-version-skip 3.7.3 → 3.6.16 → 3.5.35"},
		"to where members reappear":                {[]string{"3.6.16", "3.6.16", "3.6.16"}, "3.5.20", "etcd-version-patch-first 3.6.16 → 3.5.35 → 3.5.20"},
		"back to it in an upgrade":                 {[]string{"3.5.35", "3.6.16", "3.5.35"}, "3.5.35", ""},
		"to a version that usher does not run":     {[]string{"3.5.35", "3.5.35", "3.5.35"}, "3.4.30", "etcd-version-unsupported 3.5.35"},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(version(tc.runs[0])))
			for i, v := range tc.runs {
				o.Members[i].Version = etcd.ReadVersion(v)
			}
			got := ""
			for _, r := range plan.Refusals(spec(version(tc.to)), &o) {
				got = r.Row + " " + etcd.Versions(etcd.ReadVersion(tc.runs[0]), r.Path)
			}
			if got != tc.want {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
		})
	}
}

// TestDowngrades_WithEveryFault_Converge changes the version up and down together
// with the size, with every fault before every early step.
func TestDowngrades_WithEveryFault_Converge(t *testing.T) {
	all := states.Of([][]states.Variant{
		{states.Size(1), states.Size(3), states.Size(4)}, {states.Version("3.5.35"), states.Version("3.6.16"), states.Version("3.6.12"), states.Version("3.7.3")}, {states.Claims("1Gi")},
	})
	k := newWalk()
	if err := k.pairs(all, []int{0, 1, 2, 3, 4}, 41); err != nil {
		t.Fatal(err)
	}
	for seed := *walkSeed; seed < *walkSeed+100; seed++ {
		if err := k.sequence(seed, all); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d runs, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, k.lost, k.stalled)
}
