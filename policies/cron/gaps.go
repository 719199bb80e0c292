package cron

import "time"

// A Gap is the time between two consecutive runs.
type Gap struct {
	From, To time.Time
}

// Length is the gap's duration.
func (g Gap) Length() time.Duration { return g.To.Sub(g.From) }

// maxRuns limits the number of considered runs: one each minute for a year.
const maxRuns = 366 * 24 * 60

// Gaps finds the shortest and the longest time between two runs in the year
// after t, or over the first three runs if a year has fewer. ok is false if
// there are fewer than two runs.
func (s *Schedule) Gaps(t time.Time) (shortest, longest Gap, ok bool) {
	end := t.AddDate(1, 0, 0)
	previous := s.Next(t)
	if previous.IsZero() {
		return Gap{}, Gap{}, false
	}
	for n := 1; n <= maxRuns; n++ {
		next := s.Next(previous)
		if next.IsZero() || next.After(end) && n > 2 {
			break
		}
		g := Gap{previous, next}
		if !ok || g.Length() < shortest.Length() {
			shortest = g
		}
		if !ok || g.Length() > longest.Length() {
			longest = g
		}
		ok, previous = true, next
	}
	return shortest, longest, ok
}
