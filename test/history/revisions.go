package history

import (
	"fmt"
	"slices"
	"time"
)

// checkIdentity finds answers of another cluster.
func (v *Verdict) checkIdentity(operations []Operation) {
	answers := map[uint64]int{}
	for _, o := range operations {
		if o.Answer != nil {
			answers[o.Answer.Cluster]++
		}
	}
	if len(answers) > 1 {
		v.add("%d clusters answered: %v operations by cluster id", len(answers), answers)
	}
}

// checkRevisions checks that time and revisions agree across all keys: the
// revision of an answer is at least that of every answer before the request,
// and every write has a unique revision. A store that was rolled back, a second
// store and a stale read violate this.
func (v *Verdict) checkRevisions(operations []Operation) {
	var answered []Operation
	for _, o := range operations {
		if o.Answer != nil {
			answered = append(answered, o)
		}
	}
	byReturn := slices.Clone(answered)
	slices.SortStableFunc(byReturn, func(a, b Operation) int { return int(a.Return - b.Return) })
	slices.SortStableFunc(answered, func(a, b Operation) int { return int(a.Call - b.Call) })

	var problems []string
	var latest Operation // the one with the highest revision that had returned
	next := 0
	for _, o := range answered {
		for ; next < len(byReturn) && byReturn[next].Return < o.Call; next++ {
			if latest.Answer == nil || byReturn[next].Answer.Revision > latest.Answer.Revision {
				latest = byReturn[next]
			}
		}
		if latest.Answer == nil {
			continue
		}
		if now, before := o.Answer.Revision, latest.Answer.Revision; now < before || o.Answer.Wrote && now == before {
			problems = append(problems, fmt.Sprintf("the revision went back from %d to %d: %s, after %s", before, now, o, latest))
		}
	}
	v.addAll(problems)

	problems = nil
	writes := map[int64]Operation{}
	for _, o := range answered {
		if !o.Answer.Wrote {
			continue
		}
		if other, taken := writes[o.Answer.Revision]; taken {
			problems = append(problems, fmt.Sprintf("two writes at revision %d: %s, and %s", o.Answer.Revision, other, o))
		}
		writes[o.Answer.Revision] = o
	}
	v.addAll(problems)
}

// never is the return time of an operation without an answer.
const never = time.Duration(1<<63 - 1)
