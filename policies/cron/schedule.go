// Package cron reads the schedules of CronJobs as the CronJob controller reads
// them, by the same parser, and works out what they come to: the next runs, the
// gaps between them, what a change of the clocks does, and what an outage does.
package cron

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	// The API server and the controller carry the time zones with them; so a
	// zone is known here exactly where it is known there.
	_ "time/tzdata"

	robfig "github.com/robfig/cron/v3"
)

// starBit is set by the parser in a field written as * or ?.
const starBit = 1 << 63

// A Schedule is a parsed schedule of a CronJob.
type Schedule struct {
	// Text is the schedule as written, without a time zone in front.
	Text string
	// Location is the time zone it is read in.
	Location *time.Location

	parsed robfig.Schedule
}

// Parse reads a schedule in a time zone: the CronJob's timeZone, or "" where it
// has none. Without one the controller uses its own, which is UTC wherever
// nobody changed it. A zone inside the schedule wins, as it does in the
// controller, although the API server refuses new ones.
func Parse(text, zone string) (s *Schedule, err error) {
	defer func() {
		// The parser panics on some malformed time zones.
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("schedule %q cannot be parsed: its time zone is malformed", text)
		}
	}()
	s = &Schedule{Text: text, Location: time.UTC}
	if strings.Contains(text, "TZ") {
		if name, rest, ok := strings.Cut(text, " "); ok && strings.Contains(name, "=") {
			_, zone, _ = strings.Cut(name, "=")
			s.Text = strings.TrimSpace(rest)
		}
	}
	if zone != "" {
		if s.Location, err = time.LoadLocation(zone); err != nil {
			return nil, fmt.Errorf("time zone %q is unknown: %w", zone, err)
		}
	}
	if s.parsed, err = robfig.ParseStandard(text); err != nil {
		return nil, fmt.Errorf("schedule %q cannot be parsed: %w", text, err)
	}
	return s, nil
}

// Next is the first run after t, or the zero time where there is none within
// five years: the parser's horizon, and so the controller's.
func (s *Schedule) Next(t time.Time) time.Time {
	next := s.parsed.Next(t.In(s.Location))
	if next.IsZero() {
		return time.Time{}
	}
	return next.In(s.Location)
}

// Upcoming are the first n runs after t.
func (s *Schedule) Upcoming(t time.Time, n int) []time.Time {
	var runs []time.Time
	for next := s.Next(t); !next.IsZero() && len(runs) < n; next = s.Next(next) {
		runs = append(runs, next)
	}
	return runs
}

// Possible reports whether the schedule ever runs. The answer takes the same
// time whatever the schedule: it comes from the days that months can have.
func (s *Schedule) Possible() bool {
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	if !ok {
		return true
	}
	// A list such as "," is accepted and holds nothing.
	weekday, months := spec.Dow&^starBit != 0, spec.Month&^starBit != 0
	if spec.Minute&^starBit == 0 || spec.Hour&^starBit == 0 || !months {
		return false
	}
	if s.EitherDay() && weekday {
		return true // every week has every weekday
	}
	if !s.EitherDay() && !weekday {
		return false
	}
	for month := time.January; month <= time.December; month++ {
		// 2024 is a leap year: its months are as long as they get.
		last := time.Date(2024, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		days := spec.Dom &^ starBit & (1<<(last+1) - 1)
		if spec.Month&(1<<uint(month)) != 0 && days != 0 {
			return true
		}
	}
	return false
}

// Interval is the fixed interval of an @every schedule; ok is false for others.
func (s *Schedule) Interval() (interval time.Duration, ok bool) {
	every, ok := s.parsed.(robfig.ConstantDelaySchedule)
	return every.Delay, ok
}

// EitherDay reports whether both the day of the month and the weekday are
// restricted. The schedule then runs when either matches, not when both do.
func (s *Schedule) EitherDay() bool {
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	return ok && spec.Dom&starBit == 0 && spec.Dow&starBit == 0
}

// EveryHour reports whether no hour of the day is left out.
func (s *Schedule) EveryHour() bool {
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	return ok && bits.OnesCount64(spec.Hour&^starBit) == 24
}

// EveryDay reports whether no day is left out.
func (s *Schedule) EveryDay() bool {
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	return ok && bits.OnesCount64(spec.Month&^starBit) == 12 &&
		(spec.Dom&starBit != 0 && bits.OnesCount64(spec.Dow&^starBit) == 7 ||
			spec.Dow&starBit != 0 && bits.OnesCount64(spec.Dom&^starBit) == 31)
}

// ShortestInterval is the shortest time between two runs of one day, or 24
// hours where there is one run a day at most. It is cheap: no run is searched
// for.
func (s *Schedule) ShortestInterval() time.Duration {
	if every, ok := s.Interval(); ok {
		return every
	}
	const day = 24 * 60
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	if !ok {
		return day * time.Minute
	}
	shortest, first, last := day, -1, -1
	for hours := spec.Hour &^ starBit; hours != 0; hours &= hours - 1 {
		hour := bits.TrailingZeros64(hours)
		for minutes := spec.Minute &^ starBit; minutes != 0; minutes &= minutes - 1 {
			minute := hour*60 + bits.TrailingZeros64(minutes)
			if first < 0 {
				first = minute
			} else {
				shortest = min(shortest, minute-last)
			}
			last = minute
		}
	}
	if s.EveryDay() {
		shortest = min(shortest, first+day-last)
	}
	return time.Duration(shortest) * time.Minute
}
