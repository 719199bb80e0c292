package cron

import "time"

// A Calendar is a year of runs, by the day and the hour that a clock in the
// schedule's time zone shows.
type Calendar struct {
	// From is the beginning of the first day.
	From time.Time
	// Days are the days of the year, from From on.
	Days []Day
	// Shifts are the moments at which the clocks change.
	Shifts []Shift
	// Runs is the number of runs; Overlapping is how many of them begin before the
	// previous one has ended, if each takes the expected time.
	Runs, Overlapping int
	// First is the first run that begins before the previous one has ended.
	First time.Time
	// AtOnce is the largest number of runs at the same time, if every run starts
	// in time.
	AtOnce int
}

// A Day has the runs of each hour.
type Day [24]Hour

// An Hour counts the runs that begin in it, and those of them that overlap the
// previous run.
type Hour struct{ Runs, Overlapping int }

// A Shift is a moment at which the clocks change; By is positive if they go
// forward.
type Shift struct {
	At time.Time
	By time.Duration
}

// Calendar returns the runs of the year after t. duration is how long a run is
// expected to take; 0 means that no runs overlap.
func (s *Schedule) Calendar(t time.Time, duration time.Duration) Calendar {
	t = t.In(s.Location)
	c := Calendar{From: beginning(t)}
	end := beginning(t.AddDate(1, 0, 0))
	c.Days = make([]Day, c.Column(end))
	for _, at := c.From.ZoneBounds(); !at.IsZero() && at.Before(end); _, at = at.ZoneBounds() {
		_, before := at.Add(-time.Second).Zone()
		if _, after := at.Zone(); after != before {
			c.Shifts = append(c.Shifts, Shift{at, time.Duration(after-before) * time.Second})
		}
	}
	if interval, ok := s.Interval(); ok && interval < time.Minute {
		c.often(t, end, interval, duration)
		return c
	}
	var running []time.Time // the runs that have not ended
	for run := s.Next(t); !run.IsZero() && run.Before(end); run = s.Next(run) {
		for len(running) > 0 && !run.Before(running[0].Add(duration)) {
			running = running[1:]
		}
		running = append(running, run)
		c.AtOnce = max(c.AtOnce, len(running))
		c.add(run, 1, len(running) > 1)
	}
	return c
}

// often adds the runs of an interval of seconds, hour by hour: a year has up to
// 31 million of them.
func (c *Calendar) often(t, end time.Time, interval, duration time.Duration) {
	overlapping := duration > interval
	c.AtOnce = int(max(1, (duration+interval-1)/interval))
	before := 0
	for hour := t; hour.Before(end); {
		next := hour.Truncate(time.Hour).Add(time.Hour)
		if next.After(end) {
			next = end
		}
		runs := int((next.Sub(t) - 1) / interval)
		c.add(hour, runs-before, overlapping)
		before, hour = runs, next
	}
	if overlapping {
		c.First = t.Add(2 * interval) // nothing runs before the first
		c.Overlapping = max(0, c.Overlapping-1)
	}
}

// add counts runs in the hour of a moment.
func (c *Calendar) add(at time.Time, runs int, overlapping bool) {
	hour := &c.Days[min(c.Column(at), len(c.Days)-1)][at.Hour()]
	hour.Runs += runs
	c.Runs += runs
	if overlapping {
		hour.Overlapping += runs
		c.Overlapping += runs
		if c.First.IsZero() {
			c.First = at
		}
	}
}

// Date returns a day, from 0, at noon.
func (c *Calendar) Date(day int) time.Time {
	year, month, first := c.From.Date()
	return time.Date(year, month, first+day, 12, 0, 0, 0, c.From.Location())
}

// beginning returns the first moment of a day, which need not be midnight.
func beginning(t time.Time) time.Time {
	year, month, day := t.Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, t.Location())
	if midnight.Day() != day {
		_, midnight = midnight.ZoneBounds()
	}
	return midnight
}

// Column returns the index of a moment's day.
func (c *Calendar) Column(at time.Time) int {
	// Days are not all of 24 hours, but their dates are in UTC.
	date := func(t time.Time) time.Time {
		year, month, day := t.In(c.From.Location()).Date()
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	return int(date(at).Sub(date(c.From)) / (24 * time.Hour))
}
