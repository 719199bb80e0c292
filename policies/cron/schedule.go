// Package cron parses the schedules of CronJobs with the CronJob controller's
// parser, and computes their consequences: the next runs, the gaps between
// them, the effect of daylight saving, and the effect of an outage.
package cron

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	// The API server and the controller embed the time zones, so this package
	// knows the same zones.
	_ "time/tzdata"

	robfig "github.com/robfig/cron/v3"
)

// starBit is set by the parser in a field written as * or ?.
const starBit = 1 << 63

// A Schedule is a parsed schedule of a CronJob.
type Schedule struct {
	// Text is the schedule as written, without a time zone prefix.
	Text string
	// Location is the time zone of the schedule.
	Location *time.Location

	parsed robfig.Schedule
}

// Parse parses a schedule in a time zone: the CronJob's timeZone, or "" if it
// is not set. Without one the controller uses its own, which is UTC by default.
// A zone inside the schedule takes precedence, as in the controller, although
// the API server refuses it in new objects.
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
			return nil, fmt.Errorf("time zone %q is unknown: write a name from the IANA time zone database, such as Europe/Berlin", zone)
		}
	}
	if s.parsed, err = robfig.ParseStandard(text); err != nil {
		return nil, fmt.Errorf("schedule %q cannot be parsed: %w; write minute, hour, day of month, month and day of week, such as 0 3 * * *", text, err)
	}
	return s, nil
}

// ParseNew parses a schedule as the API server takes it in new objects: without
// a time zone inside, and not in the zone Local, which is another one elsewhere.
func ParseNew(text, zone string) (*Schedule, error) {
	switch {
	case strings.Contains(text, "TZ"):
		return nil, fmt.Errorf("schedule %q contains a time zone: write it in timeZone", text)
	case strings.EqualFold(zone, "Local"):
		return nil, fmt.Errorf("time zone %q depends on the machine: write a name from the IANA time zone database, such as Europe/Berlin", zone)
	}
	s, err := Parse(text, zone)
	if err == nil && !s.Possible() {
		return nil, fmt.Errorf("schedule %q names a time that never comes: write a day that the month has, such as 0 3 28 * *", text)
	}
	return s, err
}

// Next returns the first run after t, or the zero time if there is none within
// five years, which is the horizon of the parser and so of the controller.
func (s *Schedule) Next(t time.Time) time.Time {
	next := s.parsed.Next(t.In(s.Location))
	if next.IsZero() {
		return time.Time{}
	}
	return next.In(s.Location)
}

// Upcoming returns the first n runs after t.
func (s *Schedule) Upcoming(t time.Time, n int) []time.Time {
	var runs []time.Time
	for next := s.Next(t); !next.IsZero() && len(runs) < n; next = s.Next(next) {
		runs = append(runs, next)
	}
	return runs
}

// Possible reports whether the schedule ever runs. It takes constant time,
// because it only considers the days that months can have.
func (s *Schedule) Possible() bool {
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	if !ok {
		return true
	}
	// A list such as "," is accepted although it is empty.
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
		// 2024 is a leap year, with the maximum length of each month.
		last := time.Date(2024, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		days := spec.Dom &^ starBit & (1<<(last+1) - 1)
		if spec.Month&(1<<uint(month)) != 0 && days != 0 {
			return true
		}
	}
	return false
}

// Interval returns the fixed interval of an @every schedule; ok is false for
// others.
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

// EveryHour reports whether the schedule includes every hour of the day.
func (s *Schedule) EveryHour() bool {
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	return ok && bits.OnesCount64(spec.Hour&^starBit) == 24
}

// EveryDay reports whether the schedule includes every day.
func (s *Schedule) EveryDay() bool {
	spec, ok := s.parsed.(*robfig.SpecSchedule)
	return ok && bits.OnesCount64(spec.Month&^starBit) == 12 &&
		(spec.Dom&starBit != 0 && bits.OnesCount64(spec.Dow&^starBit) == 7 ||
			spec.Dow&starBit != 0 && bits.OnesCount64(spec.Dom&^starBit) == 31)
}

// ShortestInterval returns the shortest time between two runs on one day, or 24
// hours if there is at most one run a day. It is cheap, because it does not
// search for runs.
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
