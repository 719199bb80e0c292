package member

import (
	"testing"

	"github.com/usher-dev/usher/etcd/plan"
)

func TestLeastAvailable_OnlyASingleMemberOnAClaimMayBeDrained(t *testing.T) {
	voter := plan.Member{Listed: true, Durable: true}
	learner := plan.Member{Listed: true, Learner: true}
	inMemory := plan.Member{Listed: true}
	for name, tc := range map[string]struct {
		members []plan.Member
		size    int
		want    int
	}{
		"one on a claim":                     {[]plan.Member{voter}, 1, 0},
		"one without a claim":                {[]plan.Member{inMemory}, 1, 1},
		"one on a claim, and a learner":      {[]plan.Member{voter, learner}, 1, 0},
		"one on a claim that grows to three": {[]plan.Member{voter}, 3, 2},
		"three that shrink to one":           {[]plan.Member{voter, voter, voter}, 1, 2},
		"three":                              {[]plan.Member{voter, voter, voter}, 3, 2},
		"five":                               {[]plan.Member{voter, voter, voter, voter, inMemory}, 5, 3},
		"none yet":                           {nil, 1, 1},
	} {
		o := &plan.Observation{Members: tc.members}
		if got := leastAvailable(o.Voters(), tc.size, o.Durable()); got != tc.want {
			t.Errorf("%s: a drain leaves %d, want %d", name, got, tc.want)
		}
	}
}
