package cron

import "time"

// A ClockChange is a moment at which daylight saving changes the clocks of a
// time zone, and its effect on a schedule.
type ClockChange struct {
	// At is the moment of the change.
	At time.Time
	// Shift is the size of the change: positive if the clocks go forward.
	Shift time.Duration
	// Skipped are the runs that are skipped because their time does not exist, as
	// the clock would have shown them.
	Skipped []string
	// Doubled are the runs that happen twice because their time occurs twice.
	Doubled []string
}

// wallClock is the format of Skipped and Doubled.
const wallClock = "2006-01-02 15:04"

// ClockChanges lists the clock changes in the year after t that skip or repeat
// a run. It ignores schedules that run every hour, because their gaps do not
// change.
func (s *Schedule) ClockChanges(t time.Time) []ClockChange {
	if _, fixed := s.Interval(); fixed || s.EveryHour() {
		return nil
	}
	var changes []ClockChange
	end := t.AddDate(1, 0, 0)
	for _, at := t.In(s.Location).ZoneBounds(); !at.IsZero() && at.Before(end); _, at = at.ZoneBounds() {
		if c := s.change(at); len(c.Skipped)+len(c.Doubled) > 0 {
			changes = append(changes, c)
		}
	}
	return changes
}

// change compares the runs around a change with those of a clock without
// changes.
func (s *Schedule) change(at time.Time) ClockChange {
	_, before := at.Add(-time.Second).Zone()
	_, after := at.Zone()
	c := ClockChange{At: at, Shift: time.Duration(after-before) * time.Second}
	if c.Shift == 0 {
		return c
	}
	// The wall clock shows these times twice, or never.
	span := c.Shift.Abs()
	reading := at.UTC().Add(time.Duration(before) * time.Second) // as if it were UTC
	from := reading
	if c.Shift < 0 {
		from = reading.Add(-span)
	}

	made := map[string]int{}
	for run := s.Next(at.Add(-span - time.Second)); !run.IsZero() && run.Before(at.Add(span)); run = s.Next(run) {
		made[run.Format(wallClock)]++
	}
	steady, err := Parse(s.Text, "")
	if err != nil {
		return c
	}
	for run := steady.Next(from.Add(-time.Second)); !run.IsZero() && run.Before(from.Add(span)); run = steady.Next(run) {
		switch text := run.Format(wallClock); {
		case made[text] == 0:
			c.Skipped = append(c.Skipped, text)
		case made[text] > 1:
			c.Doubled = append(c.Doubled, text)
		}
	}
	return c
}
