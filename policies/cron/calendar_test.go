package cron_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCalendar(t *testing.T) {
	type want struct {
		days, runs, overlapping, atOnce int
		first                           string
		shifts                          []string
	}
	for name, c := range map[string]struct {
		text, zone, from string
		duration         time.Duration
		want             want
	}{
		"a daily run of a year":    {"30 2 * * *", "", "2026-01-01T00:00:00Z", 0, want{365, 365, 0, 1, "", nil}},
		"a leap year":              {"30 2 * * *", "", "2027-03-01T00:00:00Z", 0, want{366, 366, 0, 1, "", nil}},
		"runs before now are over": {"30 2 * * *", "", "2026-01-01T02:30:00Z", 0, want{365, 364, 0, 1, "", nil}},
		"one run is skipped, one occurs twice": {
			"30 2 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", 0,
			want{365, 365, 0, 1, "", []string{"2026-03-29T01:00:00Z 1h0m0s", "2026-10-25T01:00:00Z -1h0m0s"}},
		},
		"the run that occurs twice overlaps itself": {
			"30 2 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", 90 * time.Minute,
			want{365, 365, 1, 2, "2026-10-25T02:30:00+01:00", []string{"2026-03-29T01:00:00Z 1h0m0s", "2026-10-25T01:00:00Z -1h0m0s"}},
		},
		"a run that ends as the next begins": {"0 * * * *", "", "2026-01-01T00:00:00Z", time.Hour, want{365, 8759, 0, 1, "", nil}},
		"a run that takes a little longer":   {"0 * * * *", "", "2026-01-01T00:00:00Z", time.Hour + 1, want{365, 8759, 8758, 2, "2026-01-01T02:00:00Z", nil}},
		"runs of a night, over the next":     {"0 22,23 * * *", "", "2026-01-01T00:00:00Z", 24 * time.Hour, want{365, 730, 729, 2, "2026-01-01T23:00:00Z", nil}},
		"never":                              {"0 0 31 2 *", "", "2026-01-01T00:00:00Z", time.Hour, want{365, 0, 0, 0, "", nil}},
		"an interval of seconds":             {"@every 10s", "", "2026-01-01T00:00:00Z", 0, want{365, 3153599, 0, 1, "", nil}},
		"seconds that overlap":               {"@every 10s", "", "2026-01-01T00:00:00Z", 25 * time.Second, want{365, 3153599, 3153598, 3, "2026-01-01T00:00:20Z", nil}},
		"midnight that does not exist":       {"0 12 * * *", "America/Santiago", "2026-09-06T12:00:00Z", 0, want{365, 365, 0, 1, "", []string{"2027-04-04T03:00:00Z -1h0m0s", "2027-09-05T04:00:00Z 1h0m0s"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c0 := parse(t, c.text, c.zone).Calendar(at(t, c.from), c.duration)
			got := want{days: len(c0.Days), runs: c0.Runs, overlapping: c0.Overlapping, atOnce: c0.AtOnce}
			if !c0.First.IsZero() {
				got.first = c0.First.Format(time.RFC3339)
			}
			for _, s := range c0.Shifts {
				got.shifts = append(got.shifts, s.At.UTC().Format(time.RFC3339)+" "+s.By.String())
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			runs := 0
			for _, day := range c0.Days {
				for _, hour := range day {
					runs += hour.Runs
				}
			}
			if runs != c0.Runs {
				t.Errorf("the hours have %d runs, the year %d", runs, c0.Runs)
			}
		})
	}
}

func TestCalendar_HoursAreThoseOfTheClock(t *testing.T) {
	c := parse(t, "30 2 * * *", "Europe/Berlin").Calendar(at(t, "2026-03-27T12:00:00Z"), 0)
	var got []int
	for _, day := range []string{"2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30", "2026-10-25"} {
		got = append(got, c.Days[c.Column(at(t, day+"T11:00:00Z"))][2].Runs)
	}
	if diff := cmp.Diff([]int{0, 1, 0, 1, 2}, got); diff != "" {
		t.Errorf("runs at two o'clock (-want +got):\n%s", diff)
	}
}
