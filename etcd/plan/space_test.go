package plan_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// TestSpace states one decision in each row. The first of three members leads.
func TestSpace(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	alarm := func(o *plan.Observation) { o.Alarms = map[plan.Alarm][]string{plan.NoSpace: {"e-1"}} }
	compacted := func(o *plan.Observation) {
		alarm(o)
		o.Space.Compacted = now.Add(-time.Second)
	}
	sizes := func(size, inUse int64) func(*plan.Observation) {
		return func(o *plan.Observation) {
			for i := range o.Members {
				o.Members[i].Database = &plan.Database{Size: size << 20, InUse: inUse << 20, Quota: 100 << 20}
			}
		}
	}
	defragmented := func(o *plan.Observation) {
		for i := range o.Members {
			o.Members[i].Defragmented = now
		}
	}
	full := func(o *plan.Observation) {
		compacted(o)
		sizes(100, 99)(o)
		defragmented(o)
		o.Space.Compacted = now.Add(-time.Hour)
	}
	due := func(o *plan.Observation) { o.Space.Due = now.Add(-time.Minute) }
	down := func(o *plan.Observation) { o.Members[2].Answers, o.Members[2].Pod.Ready = false, false }
	recovery := &v1beta2.SpacePolicy{QuotaBackendBytes: ptr.To(resource.MustParse("100Mi")), RecoverNoSpace: &v1beta2.NoSpaceRecovery{}}
	raising := recovery.DeepCopy()
	raising.RecoverNoSpace.MaximumQuotaBackendBytes = ptr.To(resource.MustParse("1Gi"))
	schedule := &v1beta2.SpacePolicy{Defragmentation: &v1beta2.Defragmentation{Schedule: "0 3 * * *"}}
	need := &v1beta2.SpacePolicy{Defragmentation: &v1beta2.Defragmentation{Fragmentation: &v1beta2.Fragmentation{Percent: 50, MinimumFree: ptr.To(resource.MustParse("20Mi"))}}}
	for name, c := range map[string]struct {
		space *v1beta2.SpacePolicy
		seen  []func(*plan.Observation)
		step  string // begins with
		stall string
	}{
		"nothing is due":                    {schedule, nil, "", ""},
		"no permission to recover":          {schedule, []func(*plan.Observation){alarm}, "", ""},
		"the alarm: compaction first":       {recovery, []func(*plan.Observation){alarm, sizes(100, 50)}, "drop the history before revision 9000", ""},
		"compaction while a member is down": {recovery, []func(*plan.Observation){alarm, sizes(100, 50), down}, "drop the history before revision 9000", ""},
		"data that is corrupt": {recovery, []func(*plan.Observation){func(o *plan.Observation) {
			o.Alarms = map[plan.Alarm][]string{plan.NoSpace: {"e-1"}, plan.Corrupt: {"e-1"}}
		}}, "", ""},
		"then defragmentation":                {recovery, []func(*plan.Observation){compacted, sizes(100, 50)}, "defragment e-2,", ""},
		"also of a database below the quota":  {recovery, []func(*plan.Observation){compacted, sizes(60, 40)}, "defragment e-2,", ""},
		"not while a member is down":          {recovery, []func(*plan.Observation){compacted, sizes(100, 50), down}, "restart e-3", plan.SpaceMemberDown},
		"not while a member lags":             {recovery, []func(*plan.Observation){compacted, sizes(100, 50), func(o *plan.Observation) { o.Members[1].Lag = 5001 }}, "", plan.SpaceMemberLags},
		"a compaction that does not show yet": {recovery, []func(*plan.Observation){compacted, sizes(100, 100)}, "defragment e-2,", ""},
		"the leader last, who hands over first": {recovery, []func(*plan.Observation){compacted, sizes(100, 50), func(o *plan.Observation) {
			for i := range o.Members[1:] {
				o.Members[1+i].Database, o.Members[1+i].Defragmented = &plan.Database{Size: 50 << 20, InUse: 50 << 20, Quota: 100 << 20}, now
			}
		}}, "move the leadership to e-2: to defragment e-1", ""},
		"then the alarm ends":                  {recovery, []func(*plan.Observation){compacted, sizes(50, 50), defragmented}, "end the alarm NOSPACE", ""},
		"data that fills the quota":            {recovery, []func(*plan.Observation){full}, "", plan.SpaceQuotaReached},
		"a compaction gets a minute":           {raising, []func(*plan.Observation){full, func(o *plan.Observation) { o.Space.Compacted = now.Add(-59 * time.Second) }}, "", ""},
		"a quota that may be raised":           {raising, []func(*plan.Observation){full}, "raise the quota to 256Mi", ""},
		"volumes that have not grown yet":      {raising, []func(*plan.Observation){full, func(o *plan.Observation) { o.Members[1].Capacity = resource.MustParse("300Mi") }}, "", plan.SpaceClaimTooSmall},
		"claims that have no room":             {raising, []func(*plan.Observation){full, func(o *plan.Observation) { o.Members[1].Storage = resource.MustParse("300Mi") }}, "", plan.SpaceClaimTooSmall},
		"a raised quota is on its way":         {raising, []func(*plan.Observation){full, func(o *plan.Observation) { o.Members[1].SpaceRevision = "former" }}, "recreate the pod of e-2", plan.SpaceOtherStep},
		"a step that failed is not repeated":   {recovery, []func(*plan.Observation){alarm, func(o *plan.Observation) { o.Space.Failed = &plan.Stall{Reason: "NeedsRoot"} }}, "", "NeedsRoot"},
		"the schedule":                         {schedule, []func(*plan.Observation){due}, "defragment e-2,", ""},
		"the schedule, one member is done":     {schedule, []func(*plan.Observation){due, func(o *plan.Observation) { o.Members[1].Defragmented = now }}, "defragment e-3,", ""},
		"the schedule waits for other changes": {schedule, []func(*plan.Observation){due, func(o *plan.Observation) { o.Members[1].PodRevision = "former" }}, "recreate the pod of e-2", plan.SpaceOtherStep},
		"the schedule waits for members":       {schedule, []func(*plan.Observation){due, down}, "restart e-3", plan.SpaceMemberDown},
		"the schedule leaves corrupt data":     {schedule, []func(*plan.Observation){due, func(o *plan.Observation) { o.Alarms = map[plan.Alarm][]string{plan.Corrupt: {"e-1"}} }}, "", plan.SpaceCorrupt},
		"free space below the part":            {need, []func(*plan.Observation){sizes(100, 51)}, "", ""},
		"free space of that part":              {need, []func(*plan.Observation){sizes(100, 50)}, "defragment e-2,", ""},
		"free space below the size":            {need, []func(*plan.Observation){sizes(30, 11)}, "", ""},
		"a member that is being defragmented": {need, []func(*plan.Observation){sizes(100, 50), func(o *plan.Observation) {
			down(o)
			o.Space.Defragmenting, o.Space.Until = "e-3", now.Add(time.Second)
			o.Members[2].Unresponsive = &plan.Unresponsive{According: plan.Client | plan.Kubelet}
		}}, "waits until e-3 is defragmented", ""},
		"a member whose defragmentation takes too long": {need, []func(*plan.Observation){sizes(100, 50), func(o *plan.Observation) {
			down(o)
			o.Space.Defragmenting, o.Space.Until = "e-3", now
		}}, "restart e-3", plan.SpaceMemberDown},
	} {
		t.Run(name, func(t *testing.T) {
			step, stall := nextForSpace(c.space, c.seen, now)
			if step != c.step && (c.step == "" || !strings.HasPrefix(step, c.step)) || stall != c.stall {
				t.Errorf("the step is %q, and the stall %q; want %q and %q", step, stall, c.step, c.stall)
			}
		})
	}
}

// nextForSpace returns the next step of three members, and why one for space waits.
func nextForSpace(space *v1beta2.SpacePolicy, seen []func(*plan.Observation), now time.Time) (step, stall string) {
	spec := states.Of([][]states.Variant{{states.Size(3)}, {states.Version("3.6.16")}, {states.Claims("1Gi")}, {states.Space("", space)}})[0].Spec
	o := plan.Settled("e", spec)
	o.Now, o.Space.Revision = now, 10000
	for _, change := range seen {
		change(&o)
	}
	p := plan.Next(spec, &o)
	if p.Now() != nil {
		step = p.Now().String()
	}
	if p.SpaceStalled != nil {
		stall = p.SpaceStalled.Reason
	}
	return step, stall
}

// TestADefragmentedMember_IsNotSilent lets a member be silent for longer than the
// member timeout while it is defragmented, and then for as long again.
func TestADefragmentedMember_IsNotSilent(t *testing.T) {
	spec := states.Of([][]states.Variant{{states.Size(3)}, {states.Version("3.6.16")}, {states.Claims("1Gi")}})[0].Spec
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var memory plan.Memory
	at := func(after time.Duration) *plan.Observation {
		o := plan.Settled("e", spec)
		o.Now, o.Limits.MemberTimeout = start.Add(after), time.Minute
		o.Space.Defragmenting, o.Space.Until = "e-3", start.Add(10*time.Minute)
		o.Members[2].Answers, o.Members[2].Pod.Ready = false, false
		memory.Update(&o)
		return &o
	}
	at(0)
	for _, after := range []time.Duration{9 * time.Minute, 10*time.Minute - time.Second} {
		if p := plan.Next(spec, at(after)); p.Now().Action != plan.Wait || p.Stalled != nil {
			t.Errorf("after %s: %s, %+v", after, p.Now(), p.Stalled)
		}
	}
	if p := plan.Next(spec, at(10*time.Minute)); p.Now().Action != plan.Recover {
		t.Errorf("after the timeout: %s", p.Now())
	}
	if p := plan.Next(spec, at(11*time.Minute)); p.Now().Action != plan.Remove {
		t.Errorf("a minute later: %s", p.Now())
	}
}
