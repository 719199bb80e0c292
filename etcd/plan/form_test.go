package plan_test

import (
	"testing"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// TestFormation_OfTheFirstMember changes one thing about a first member that has
// formed the cluster, before that is recorded.
func TestFormation_OfTheFirstMember(t *testing.T) {
	noPod := func(m *plan.Member) { m.Pod = plan.Pod{} }
	for name, tc := range map[string]struct {
		change func(*plan.Observation, *plan.Member)
		want   plan.Action
	}{
		"it answers":                                    {func(*plan.Observation, *plan.Member) {}, plan.Record},
		"it could form a second cluster":                {func(_ *plan.Observation, m *plan.Member) { m.Pod.Sealed = false }, plan.PinInitialState},
		"it does not answer":                            {func(_ *plan.Observation, m *plan.Member) { m.Answers = false }, plan.Wait},
		"it answers without a quorum":                   {func(o *plan.Observation, _ *plan.Member) { o.Quorum = false }, plan.Wait},
		"its pod ended":                                 {func(_ *plan.Observation, m *plan.Member) { m.Pod.Ended = true }, plan.DeletePod},
		"its pod is from another spec":                  {func(_ *plan.Observation, m *plan.Member) { m.PodRevision = "old" }, plan.DeletePod},
		"its pod runs another version":                  {func(_ *plan.Observation, m *plan.Member) { m.Target = etcd.Version{Major: 3, Minor: 5, Patch: 35} }, plan.DeletePod},
		"its storage is from another spec":              {func(_ *plan.Observation, m *plan.Member) { m.StorageRevision = "old" }, plan.DeletePod},
		"only its claim is left, from another spec":     {func(_ *plan.Observation, m *plan.Member) { noPod(m); m.StorageRevision = "old" }, plan.RetainUntil},
		"only its claim is left":                        {func(_ *plan.Observation, m *plan.Member) { noPod(m) }, plan.Bootstrap},
		"only its claim is left, from a pod's old spec": {func(_ *plan.Observation, m *plan.Member) { noPod(m); m.PodRevision = "old" }, plan.Bootstrap},
		"its claim is being deleted":                    {func(_ *plan.Observation, m *plan.Member) { m.Claim.Ending = true }, plan.DeletePod},
		"its pod and its claim are being deleted":       {func(_ *plan.Observation, m *plan.Member) { m.Claim.Ending, m.Pod.Ending = true, true }, plan.Wait},
		"its pod, from another spec, is being deleted":  {func(_ *plan.Observation, m *plan.Member) { m.Pod.Ending, m.PodRevision = true, "old" }, plan.Wait},
		"only its claim is left, and is being deleted":  {func(_ *plan.Observation, m *plan.Member) { noPod(m); m.Claim.Ending = true }, plan.Wait},
		"its claim was set aside, and nothing is left": {func(o *plan.Observation, _ *plan.Member) {
			o.Members, o.SetAside = nil, []plan.SetAside{{Claim: "c-1"}}
		}, plan.NameFirstMember},
		"nothing of it exists": {func(o *plan.Observation, _ *plan.Member) { o.Members = nil }, plan.Bootstrap},
		"the claim of another member was set aside": {func(o *plan.Observation, _ *plan.Member) {
			o.Members, o.SetAside = nil, []plan.SetAside{{Claim: "c-2"}}
		}, plan.Bootstrap},
		"the status lost its name, and the member works": {func(o *plan.Observation, _ *plan.Member) { o.Seed = "" }, plan.Record},
		"the status lost its name, and it is not sealed": {func(o *plan.Observation, m *plan.Member) { o.Seed, m.Pod.Sealed = "", false }, plan.Wait},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(size(1), claims("1Gi")))
			o.Formed, o.Seed, o.Now = false, "c-1", now
			tc.change(&o, &o.Members[0])
			if step := next(&o, size(1), claims("1Gi")); step == nil || step.Action != tc.want {
				t.Errorf("got %v, want %s", step, tc.want)
			}
		})
	}
}
