package plan_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
)

// TestSpace_AtItsLimits states the decisions next to those of TestSpace: on the limit
// itself, without a value, and with one condition of several.
func TestSpace_AtItsLimits(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const mi = 1 << 20
	type change = func(*plan.Observation)
	alarm := func(o *plan.Observation) { o.Alarms = map[plan.Alarm][]string{plan.NoSpace: {"e-1"}} }
	compacted := func(ago time.Duration) change {
		return func(o *plan.Observation) {
			alarm(o)
			o.Space.Compacted = now.Add(-ago)
		}
	}
	database := func(m int, size, inUse, quota int64) change {
		return func(o *plan.Observation) {
			o.Members[m].Database = &plan.Database{Size: size, InUse: inUse, Quota: quota}
		}
	}
	databases := func(size, inUse int64) change {
		return func(o *plan.Observation) {
			for i := range o.Members {
				database(i, size*mi, inUse*mi, 100*mi)(o)
			}
		}
	}
	defragmented := func(o *plan.Observation) {
		for i := range o.Members {
			o.Members[i].Defragmented = now
		}
	}
	full := func(o *plan.Observation) {
		compacted(time.Hour)(o)
		databases(100, 99)(o)
		defragmented(o)
	}
	failed := func(o *plan.Observation) { o.Space.Failed = &plan.Stall{Reason: "StepFailed"} }
	due := func(o *plan.Observation) { o.Space.Due = now.Add(-time.Minute) }
	defragmenting := func(name string) change {
		return func(o *plan.Observation) { o.Space.Defragmenting, o.Space.Until = name, now.Add(time.Minute) }
	}
	recovery := &v1beta2.SpacePolicy{QuotaBackendBytes: ptr.To(resource.MustParse("100Mi")), RecoverNoSpace: &v1beta2.NoSpaceRecovery{}}
	keeping := &v1beta2.SpacePolicy{RecoverNoSpace: &v1beta2.NoSpaceRecovery{KeepRevisions: ptr.To[int64](100)}}
	raising := func(to string) *v1beta2.SpacePolicy {
		space := recovery.DeepCopy()
		space.RecoverNoSpace.MaximumQuotaBackendBytes = ptr.To(resource.MustParse(to))
		return space
	}
	schedule := &v1beta2.SpacePolicy{Defragmentation: &v1beta2.Defragmentation{Schedule: "0 3 * * *"}}
	need := func(minimum string) *v1beta2.SpacePolicy {
		f := &v1beta2.Fragmentation{Percent: 50}
		if minimum != "" {
			f.MinimumFree = ptr.To(resource.MustParse(minimum))
		}
		return &v1beta2.SpacePolicy{Defragmentation: &v1beta2.Defragmentation{Fragmentation: f}}
	}
	both := recovery.DeepCopy()
	both.Defragmentation = schedule.Defragmentation
	for name, c := range map[string]struct {
		space *v1beta2.SpacePolicy
		seen  []change
		step  string // begins with
		stall string
	}{
		"the revisions to keep":           {keeping, []change{alarm}, "drop the history before revision 9900", ""},
		"no member says the revision":     {recovery, []change{alarm, databases(100, 50), func(o *plan.Observation) { o.Space.Revision = 0 }}, "", ""},
		"an alarm without spec.space":     {nil, []change{alarm, databases(100, 50)}, "", ""},
		"a recovery without an alarm":     {recovery, []change{databases(100, 50)}, "", ""},
		"a compaction without a recovery": {schedule, []change{compacted(time.Hour), databases(100, 50)}, "", ""},
		"a failure after the compaction":  {recovery, []change{compacted(time.Hour), databases(100, 50), failed}, "", "StepFailed"},
		"a failure before the schedule":   {schedule, []change{due, failed}, "", "StepFailed"},
		"a member without a size":         {recovery, []change{compacted(time.Hour), databases(100, 50), func(o *plan.Observation) { o.Members[1].Database = nil }}, "", plan.SpaceMemberDown},
		"a member without a quota":        {recovery, []change{compacted(time.Hour), databases(100, 50), database(1, mi, mi, 0)}, "", plan.SpaceMemberDown},

		"one database is full, and not the last": {recovery, []change{full, database(1, 50*mi, 50*mi, 100*mi), database(2, 50*mi, 50*mi, 100*mi)}, "", plan.SpaceQuotaReached},
		"a compaction after its minute":          {raising("1Gi"), []change{full, compacted(time.Minute)}, "raise the quota to 256Mi", ""},
		"a tenth of the quota is free":           {recovery, []change{compacted(time.Hour), defragmented, databases(60, 50)}, "defragment e-2,", ""},
		"nine tenths of the quota are in use":    {recovery, []change{compacted(time.Hour), databases(90, 90)}, "defragment e-2,", ""},
		"a small database without free space":    {recovery, []change{compacted(time.Hour), databases(50, 50)}, "end the alarm NOSPACE", ""},
		"a quota that is the largest":            {raising("100Mi"), []change{full}, "", plan.SpaceQuotaReached},
		"a quota that is raised already":         {raising("1Gi"), []change{full, func(o *plan.Observation) { o.Space.Raised = true }}, "", plan.SpaceQuotaReached},
		"pods that must not be created":          {raising("1Gi"), []change{full, func(o *plan.Observation) { o.TLS = "all" }}, "", plan.SpaceQuotaReached},
		"a claim with room for the quota alone":  {raising("1Gi"), []change{full, func(o *plan.Observation) { o.Members[1].Storage = resource.MustParse("400Mi") }}, "", plan.SpaceClaimTooSmall},
		"a claim with room for a little more":    {raising("1Gi"), []change{full, func(o *plan.Observation) { o.Members[1].Storage = resource.MustParse("404Mi") }}, "raise the quota to 101Mi", ""},
		"a member without a claim":               {raising("1Gi"), []change{full, func(o *plan.Observation) { o.Members[1].Durable = false }}, "", plan.SpaceClaimTooSmall},

		"a schedule only":               {schedule, []change{databases(100, 10)}, "", ""},
		"any free space":                {need(""), []change{databases(100, 50)}, "defragment e-2,", ""},
		"the smallest free space":       {need("20Mi"), []change{databases(40, 20)}, "defragment e-2,", ""},
		"an empty database":             {need(""), []change{databases(0, 0)}, "", ""},
		"a member that says nothing":    {need(""), []change{databases(100, 51), func(o *plan.Observation) { o.Members[0].Database = nil }}, "", ""},
		"a member as far behind as may": {schedule, []change{due, func(o *plan.Observation) { o.Members[1].Lag = 5000 }}, "defragment e-2,", ""},
		"why: the schedule":             {schedule, []change{due}, "defragment e-2, which answers nothing meanwhile: it was due at 2026-01-01 11:59:00", ""},
		"why: the first member":         {need(""), []change{databases(100, 51), database(0, 80*mi+1, 30*mi+1, 100*mi), database(1, 60*mi, 20*mi, 100*mi)}, "defragment e-2, which answers nothing meanwhile: 50Mi of its 80Mi are free", ""},
		"why: a small database":         {need(""), []change{databases(100, 51), database(1, 1536<<10, 512<<10, 100*mi)}, "defragment e-2, which answers nothing meanwhile: 1Mi of its 1536Ki are free", ""},

		"nothing is due while others change": {schedule, []change{func(o *plan.Observation) { o.Members[1].PodRevision = "former" }}, "recreate the pod of e-2", ""},
		"an alarm while others change":       {both, []change{full, func(o *plan.Observation) { o.Members[1].Answers, o.Members[1].Pod.Ready = false, false }}, "restart e-2", plan.SpaceMemberDown},
		"the schedule waits for growth":      {schedule, []change{due, func(o *plan.Observation) { o.Members = o.Members[:2] }}, "add ", plan.SpaceOtherStep},
		"the schedule waits for a Secret":    {schedule, []change{due, func(o *plan.Observation) { o.Missing = "the Secret" }}, "", string(plan.MissingReference)},
		"a cluster that is not formed":       {schedule, []change{due, func(o *plan.Observation) { o.Formed = false }}, "record that the cluster is formed", ""},

		"a defragmented member that is ready":      {schedule, []change{due, defragmenting("e-2")}, "defragment e-2,", ""},
		"a defragmented member that was removed":   {schedule, []change{due, defragmenting("e-9")}, "defragment e-2,", ""},
		"a defragmented member that is not listed": {schedule, []change{defragmenting("e-3"), func(o *plan.Observation) { o.Members[2].Listed, o.Members[2].Answers = false, false }}, "add ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			step, stall := nextForSpace(c.space, c.seen, now)
			if step != c.step && (c.step == "" || !strings.HasPrefix(step, c.step)) || stall != c.stall {
				t.Errorf("the step is %q, and the stall %q; want %q and %q", step, stall, c.step, c.stall)
			}
		})
	}
}
