package history

import "fmt"

// checkEvents checks that the events are the log: all of it, once, in order.
func (v *Verdict) checkEvents(who string, told Events, log []Event) {
	if told.Incomplete != "" {
		v.add("%s was not told everything: %s", who, told.Incomplete)
	}
	var problems []string
	at := map[int64]int{}
	for i, e := range log {
		at[e.State.Modified] = i
	}
	seen := make([]bool, len(log))
	last := int64(0)
	for _, e := range told.Events {
		i, stored := at[e.State.Modified]
		switch {
		case !stored:
			problems = append(problems, fmt.Sprintf("%s has what the others do not have: %s", who, e))
		case log[i] != e:
			problems = append(problems, fmt.Sprintf("%s has %s, the others %s", who, e, log[i]))
		case seen[i]:
			problems = append(problems, fmt.Sprintf("%s has twice: %s", who, e))
		case e.State.Modified < last:
			problems = append(problems, fmt.Sprintf("%s has after revision %d: %s", who, last, e))
		}
		if stored {
			seen[i] = true
		}
		last = max(last, e.State.Modified)
	}
	for i, e := range log {
		if !seen[i] && (told.Incomplete == "" || e.State.Modified < last) {
			problems = append(problems, fmt.Sprintf("%s misses: %s", who, e))
		}
	}
	v.addAll(problems)
}
