package cron

import "time"

// tooMany is the number of missed runs above which the controller warns.
const tooMany = 100

// A Recovery is what the CronJob controller does after an outage.
type Recovery struct {
	// Missed is the number of runs that were due during the outage.
	Missed int
	// First and Last are the first and the last of these runs.
	First, Last time.Time
	// Late is the run that starts late, or zero if none does.
	Late time.Time
	// TooManyMissedTimes is true if the controller emits that event; the late run
	// starts anyway. (Before Kubernetes 1.21 it did not, and the CronJob stopped
	// for good.)
	TooManyMissedTimes bool
}

// Outage computes the effect of an outage of the controller from one moment to
// another, if the earlier runs started in time. deadline is the CronJob's
// startingDeadlineSeconds, or nil. However many runs were missed, at most one
// is caught up: the latest, and only within the deadline.
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

// mostRecent returns the run that the controller selects at now, if it has
// considered nothing before since. Like the controller, it does not list the
// runs but estimates their number from the first gap, so the result is the same
// even if gaps differ.
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
