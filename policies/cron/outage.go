package cron

import "time"

// tooMany is the number of missed runs above which the controller warns.
const tooMany = 100

// A Recovery is what the CronJob controller does when it comes back.
type Recovery struct {
	// Missed is the number of runs that came due in the outage.
	Missed int
	// First and Last are the first and the last of them.
	First, Last time.Time
	// Late is the one run that is started late, or zero where none is.
	Late time.Time
	// TooManyMissedTimes is set where the controller warns with that event; the
	// late run is started all the same (until Kubernetes 1.20 it was not, and
	// the CronJob stopped for good).
	TooManyMissedTimes bool
}

// Outage works out what an outage of the controller from one moment to another
// does, if the runs before it were started in time. deadline is the CronJob's
// startingDeadlineSeconds, or nil. However many runs were missed, at most one
// is made up for: the latest, and only within the deadline.
func (s *Schedule) Outage(from, to time.Time, deadline *time.Duration) Recovery {
	var r Recovery
	for run := s.Next(from); !run.IsZero() && !run.After(to) && r.Missed < maxRuns; run = s.Next(run) {
		if r.Missed == 0 {
			r.First = run
		}
		r.Last = run
		r.Missed++
	}
	since := from
	if deadline != nil && to.Add(-*deadline).After(since) {
		since = to.Add(-*deadline)
	}
	r.Late, r.TooManyMissedTimes = s.mostRecent(since, to)
	return r
}

// mostRecent is the run the controller picks at now, having looked at nothing
// before since. It does not list the runs but estimates their number from the
// first gap, so the answer here is the controller's also where gaps differ.
func (s *Schedule) mostRecent(since, now time.Time) (late time.Time, many bool) {
	first := s.Next(since)
	if first.IsZero() || now.Before(first) {
		return time.Time{}, false
	}
	second := s.Next(first)
	if second.IsZero() || now.Before(second) {
		return first, false
	}
	gap := second.Sub(first).Round(time.Second)
	if gap < time.Second {
		return time.Time{}, false
	}
	missed := now.Sub(first)/gap + 1
	for run := s.Next(first.Add((missed - 2) * gap)); !run.IsZero() && !run.After(now); run = s.Next(run) {
		late = run
	}
	return late, missed > tooMany
}
