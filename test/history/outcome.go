package history

import "slices"

// infer determines the unknown outcomes from the log: a stored operation took
// effect at some time after its request; others never did, and are omitted,
// like unanswered reads.
func infer(operations []Operation, log []Event) []Operation {
	stored := map[string]int64{} // by value
	for _, e := range log {
		if !e.Deleted {
			stored[e.State.Value] = e.State.Modified
		}
	}
	deleted := unclaimed(operations, log)
	var decided []Operation
	for _, o := range byCall(operations) {
		if o.Answer != nil {
			decided = append(decided, o)
			continue
		}
		revision := stored[o.Value]
		if o.Kind == Delete {
			// It does not matter which of several deletions it was: each may take effect
			// at any time after its request.
			if left := deleted[o.Key]; len(left) > 0 {
				revision, deleted[o.Key] = left[0], left[1:]
			}
		}
		if revision == 0 || o.Kind == Get {
			continue
		}
		o.Return, o.Answer = never, &Answer{Revision: revision, Wrote: true, Inferred: true}
		decided = append(decided, o)
	}
	return decided
}

// unclaimed returns the revisions of deletions that no acknowledged operation
// made, by key.
func unclaimed(operations []Operation, log []Event) map[string][]int64 {
	acknowledged := map[int64]bool{}
	for _, o := range operations {
		if o.Kind == Delete && o.Answer != nil && o.Answer.Wrote {
			acknowledged[o.Answer.Revision] = true
		}
	}
	left := map[string][]int64{}
	for _, e := range log {
		if e.Deleted && !acknowledged[e.State.Modified] {
			left[e.Key] = append(left[e.Key], e.State.Modified)
		}
	}
	return left
}

func byCall(operations []Operation) []Operation {
	sorted := slices.Clone(operations)
	slices.SortStableFunc(sorted, func(a, b Operation) int { return int(a.Call - b.Call) })
	return sorted
}
