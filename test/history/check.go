package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Patience is how long the search for a linearization may take.
const Patience = time.Minute

// A Verdict is the result of checking a history.
type Verdict struct {
	// Reads and Writes were answered, Unknown operations were not. Events were
	// received by watches.
	Reads, Writes, Unknown, Events int
	// Silence is the longest time without an answered write, Outage the total of
	// times without one that were longer than brief.
	Silence, Outage time.Duration
	// Problems are all actual or possible errors of the cluster: an unfinished
	// check is a problem.
	Problems []string
}

func (v Verdict) String() string {
	s := fmt.Sprintf("%d reads, %d writes, %d unknown outcomes, %d events told to watches; %s without a write at the longest, %s in all",
		v.Reads, v.Writes, v.Unknown, v.Events, v.Silence.Round(time.Millisecond), v.Outage.Round(time.Millisecond))
	if len(v.Problems) == 0 {
		return s + "; linearizable"
	}
	return s + "; PROBLEMS:\n" + strings.Join(v.Problems, "\n")
}

// brief is a time without an answered write that does not count as an outage.
const brief = time.Second

// Check checks a history. The search for a linearization ends after timeout.
func Check(h History, timeout time.Duration) Verdict {
	v := summarize(h)
	if v.Reads == 0 || v.Writes == 0 {
		v.add("nothing to judge: %d reads and %d writes were answered", v.Reads, v.Writes)
	}
	v.checkIdentity(h.Operations)
	v.checkRevisions(h.Operations)
	log, complete := v.checkLogs(h.Logs)
	if !complete {
		// Without a log the effect of unknown operations cannot be determined.
		return v
	}
	v.checkVersions(log)
	v.checkWrites(h.Operations, log)
	for _, w := range h.Watches {
		v.checkEvents("watch "+w.Source, w, log)
	}
	v.checkLinearizable(infer(h.Operations, log), timeout)
	return v
}

// most is the maximum number of reported problems of one sort.
const most = 3

func (v *Verdict) add(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// addAll adds the first problems of a sort, and the number of others.
func (v *Verdict) addAll(problems []string) {
	v.Problems = append(v.Problems, problems[:min(len(problems), most)]...)
	if more := len(problems) - most; more > 0 {
		v.add("… and %d more of this sort", more)
	}
}

func summarize(h History) Verdict {
	var v Verdict
	var answered []time.Duration
	for _, o := range h.Operations {
		switch {
		case o.Answer == nil:
			v.Unknown++
		case o.Answer.Wrote:
			v.Writes++
			answered = append(answered, o.Return)
		default:
			v.Reads++
		}
	}
	for _, w := range h.Watches {
		v.Events += len(w.Events)
	}
	slices.Sort(answered)
	last := h.Began
	for _, at := range append(answered, h.Ended) {
		if v.Silence = max(v.Silence, at-last); at-last > brief {
			v.Outage += at - last
		}
		last = max(last, at)
	}
	return v
}
