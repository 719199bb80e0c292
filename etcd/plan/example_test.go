package plan_test

import (
	"fmt"
	"time"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
)

// A controller takes the step of a plan, and observes again before the next.
func ExampleNext() {
	spec := &v1beta2.ClusterSpec{Size: 3, Version: "3.6.16"}
	seen := plan.Settled("example", spec)
	seen.Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	show := func(when string) {
		p := plan.Next(spec, &seen)
		fmt.Printf("%s:\n", when)
		for _, step := range p.Steps {
			fmt.Printf("  %s (%d more may fail, %d meanwhile)\n", step, step.Margin, step.Meanwhile)
		}
		if p.Blocked != "" {
			fmt.Printf("  %s: %s\n", p.Blocked, p.Message)
		}
	}
	show("as the spec asks")

	spec.Size = 5
	show("two more members")

	spec.Size, spec.Version = 3, "3.6.17"
	show("a new patch")

	lost := &seen.Members[1]
	lost.Answers, lost.DataGone, lost.Pod, lost.Claim = false, true, plan.Pod{}, plan.Claim{}
	lost.Unresponsive = &plan.Unresponsive{Since: seen.Now, According: plan.Client | plan.Kubelet}
	show("a member that has lost its data")

	spec.Paused = true
	show("paused")
	// Output:
	// as the spec asks:
	// two more members:
	//   add (new 1) at 3.6.16 as a learner: 3 of 5 members vote (1 more may fail, 1 meanwhile)
	// a new patch:
	//   have example-2 run 3.6.17 (1 more may fail, 0 meanwhile)
	// a member that has lost its data:
	//   remove example-2: its data is lost; the others have a copy (0 more may fail, 0 meanwhile)
	// paused:
	//   Paused: spec.paused is true: usher does not change the cluster
}
