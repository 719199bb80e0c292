package history

import "fmt"

// checkLogs checks that all members have stored the same, and returns it.
func (v *Verdict) checkLogs(logs []Events) (log []Event, complete bool) {
	if len(logs) == 0 {
		v.add("nobody read what the members have stored")
		return nil, false
	}
	complete = true
	for _, l := range logs {
		if l.Incomplete != "" {
			v.add("what the member %s has stored could not be read to the end: %s", l.Source, l.Incomplete)
			complete = false
		}
		if len(l.Events) > len(log) {
			log = l.Events
		}
	}
	for _, l := range logs {
		if l.Incomplete == "" {
			v.checkEvents("member "+l.Source, l, log)
		}
	}
	return log, complete
}

// checkVersions checks that the log is that of one store: revisions increase,
// and versions count every write.
func (v *Verdict) checkVersions(log []Event) {
	var problems []string
	states := map[string]State{}
	last := int64(0)
	for _, e := range log {
		if e.State.Modified <= last {
			problems = append(problems, fmt.Sprintf("stored after revision %d: %s", last, e))
		}
		last = e.State.Modified
		before := states[e.Key]
		if e.Deleted {
			if before.Version == 0 {
				problems = append(problems, fmt.Sprintf("stored is the %s, and there was no such key", e))
			}
			delete(states, e.Key)
			continue
		}
		want := State{Value: e.State.Value, Version: before.Version + 1, Created: before.Created, Modified: e.State.Modified}
		if before.Version == 0 {
			want.Created = e.State.Modified
		}
		if e.State != want {
			problems = append(problems, fmt.Sprintf("stored is %s, after %s", e, before))
		}
		states[e.Key] = e.State
	}
	v.addAll(problems)
}

// checkWrites checks that every acknowledged write is stored at its revision,
// and that everything stored was requested once.
func (v *Verdict) checkWrites(operations []Operation, log []Event) {
	type place struct {
		key      string
		revision int64
	}
	var lost, repeated, foreign []string
	stored := map[place]Event{}
	byValue := map[string][]Event{}
	for _, e := range log {
		stored[place{e.Key, e.State.Modified}] = e
		if !e.Deleted {
			byValue[e.State.Value] = append(byValue[e.State.Value], e)
		}
	}
	asked := map[string]Operation{}
	deletions := map[place]bool{}
	unknown := map[string]int{} // deletions, by key
	for _, o := range operations {
		if o.Kind == Delete && o.Answer == nil {
			unknown[o.Key]++
		}
		if o.Value != "" {
			asked[o.Value] = o
		}
		if o.Answer == nil || !o.Answer.Wrote {
			continue
		}
		at := place{o.Key, o.Answer.Revision}
		e, found := stored[at]
		if !found || e.Deleted != (o.Kind == Delete) || e.State.Value != o.Value {
			lost = append(lost, "an acknowledged write is lost: "+o.String())
		}
		if o.Kind == Delete {
			deletions[at] = true
		}
	}
	for _, e := range log {
		o, known := asked[e.State.Value]
		switch {
		case e.Deleted && deletions[place{e.Key, e.State.Modified}]:
		case e.Deleted:
			if unknown[e.Key]--; unknown[e.Key] < 0 {
				foreign = append(foreign, "nobody asked for the "+e.String())
			}
		case !known || o.Key != e.Key || o.Answer != nil && !o.Answer.Wrote:
			foreign = append(foreign, "nobody wrote what is stored: "+e.String())
		case len(byValue[e.State.Value]) > 1:
			repeated = append(repeated, fmt.Sprintf("written once and stored %d times: %s", len(byValue[e.State.Value]), e))
		}
	}
	v.addAll(lost)
	v.addAll(repeated)
	v.addAll(foreign)
}
