package cron_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/policies/cron"
)

func parse(t *testing.T, text, zone string) *cron.Schedule {
	t.Helper()
	s, err := cron.Parse(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestSchedulesThatCannotBeParsed(t *testing.T) {
	for _, text := range []string{"", "* * * *", "60 * * * *", "@nightly", "* * * * * *", "TZ=0", "CRON_TZ=Nowhere/None * * * * *", "*/0 * * * *"} {
		if _, err := cron.Parse(text, ""); err == nil {
			t.Errorf("%q parses", text)
		}
	}
}

func TestNextRuns(t *testing.T) {
	for name, c := range map[string]struct {
		text, zone, after string
		want              []string
	}{
		"a daily run is at the zone's time":       {"30 2 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", []string{"2026-01-01T02:30:00+01:00", "2026-01-02T02:30:00+01:00"}},
		"a zone in the schedule wins":             {"CRON_TZ=Asia/Tokyo 0 9 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", []string{"2026-01-02T09:00:00+09:00", "2026-01-03T09:00:00+09:00"}},
		"an interval counts from the last run":    {"@every 90m", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z"}},
		"@hourly is the full hour":                {"@hourly", "", "2026-01-01T00:10:00Z", []string{"2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"}},
		"either day counts where both are set":    {"0 0 13 * 5", "", "2026-01-01T00:00:00Z", []string{"2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"}},
		"the 29th of February waits for its year": {"0 0 29 2 *", "", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		"the 31st of February never comes":        {"0 0 31 2 *", "", "2026-01-01T00:00:00Z", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, run := range parse(t, c.text, c.zone).Upcoming(at(t, c.after), max(len(c.want), 1)) {
				got = append(got, run.Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImpossibleSchedules(t *testing.T) {
	for text, possible := range map[string]bool{
		"0 0 31 2 *":        false,
		"59 23 30 2 *":      false,
		"0 0 31 4,6,9,11 *": false,
		"0 0 29 2 *":        true,
		"0 0 31 2 1":        true, // or on Mondays
		"0 0 31 2,3 *":      true,
		"@every 1s":         true,
		"*/5 * * * *":       true,
	} {
		s := parse(t, text, "")
		if s.Possible() != possible {
			t.Errorf("%q: possible is %t", text, !possible)
		}
		if runs := len(s.Upcoming(at(t, "2026-01-01T00:00:00Z"), 1)) > 0; runs != possible {
			t.Errorf("%q: the parser says %t", text, runs)
		}
	}
}

func TestIntervals(t *testing.T) {
	for text, want := range map[string]struct{ interval, shortest, longest time.Duration }{
		"*/45 * * * *":  {15 * time.Minute, 15 * time.Minute, 45 * time.Minute},
		"* * * * *":     {time.Minute, time.Minute, time.Minute},
		"0 3 * * *":     {24 * time.Hour, 24 * time.Hour, 24 * time.Hour},
		"0 22,23 * * *": {time.Hour, time.Hour, 23 * time.Hour},
		"0 0,23 * * *":  {time.Hour, time.Hour, 23 * time.Hour},
		"0 0 1 * *":     {24 * time.Hour, 28 * 24 * time.Hour, 31 * 24 * time.Hour},
		"@every 10s":    {10 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		s := parse(t, text, "")
		shortest, longest, ok := s.Gaps(at(t, "2026-01-01T00:00:00Z"))
		if !ok || shortest.Length() != want.shortest || longest.Length() != want.longest {
			t.Errorf("%q: gaps are %s to %s, want %s to %s", text, shortest.Length(), longest.Length(), want.shortest, want.longest)
		}
		if got := s.ShortestInterval(); got != want.interval {
			t.Errorf("%q: shortest interval is %s, want %s", text, got, want.interval)
		}
	}
}

func TestClockChanges(t *testing.T) {
	for name, c := range map[string]struct {
		text, zone       string
		skipped, doubled []string
	}{
		"a run in the hour that is left out is skipped": {"30 2 * * *", "Europe/Berlin", []string{"2026-03-29 02:30"}, []string{"2026-10-25 02:30"}},
		"a run in the hour that comes twice is doubled": {"30 1 * * *", "America/New_York", nil, []string{"2026-11-01 01:30"}},
		"midnight that does not exist is skipped":       {"0 0 * * *", "America/Santiago", []string{"2026-09-06 00:00"}, nil},
		"a run outside either hour is left alone":       {"0 12 * * *", "Europe/Berlin", nil, nil},
		"a run in every hour is left alone":             {"*/5 * * * *", "Europe/Berlin", nil, nil},
		"UTC has no such changes":                       {"30 2 * * *", "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var skipped, doubled []string
			for _, change := range parse(t, c.text, c.zone).ClockChanges(at(t, "2026-01-01T00:00:00Z")) {
				skipped, doubled = append(skipped, change.Skipped...), append(doubled, change.Doubled...)
			}
			if diff := cmp.Diff([][]string{c.skipped, c.doubled}, [][]string{skipped, doubled}); diff != "" {
				t.Errorf("skipped, doubled (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutages(t *testing.T) {
	short, long := 10*time.Minute, 24*time.Hour
	for name, c := range map[string]struct {
		text     string
		from, to string
		deadline *time.Duration
		missed   int
		late     string
		many     bool
	}{
		"without a deadline the latest missed run starts late":         {"0 * * * *", "2026-01-01T00:30:00Z", "2026-01-01T06:30:00Z", nil, 6, "2026-01-01T06:00:00Z", false},
		"past a short deadline nothing starts":                         {"0 * * * *", "2026-01-01T00:30:00Z", "2026-01-01T06:30:00Z", &short, 6, "", false},
		"within the deadline the latest missed run starts":             {"0 * * * *", "2026-01-01T00:30:00Z", "2026-01-01T06:05:00Z", &short, 6, "2026-01-01T06:00:00Z", false},
		"more than a hundred missed runs are warned about and started": {"* * * * *", "2026-01-01T00:00:30Z", "2026-01-01T03:00:30Z", nil, 180, "2026-01-01T03:00:00Z", true},
		"an outage between two runs misses nothing":                    {"0 3 * * *", "2026-01-01T04:00:00Z", "2026-01-01T20:00:00Z", &long, 0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := parse(t, c.text, "").Outage(at(t, c.from), at(t, c.to), c.deadline)
			late := ""
			if !r.Late.IsZero() {
				late = r.Late.Format(time.RFC3339)
			}
			if r.Missed != c.missed || late != c.late || r.TooManyMissedTimes != c.many {
				t.Errorf("missed %d, late %q, too many %t", r.Missed, late, r.TooManyMissedTimes)
			}
		})
	}
}

func TestUnevenSteps(t *testing.T) {
	for text, want := range map[string]string{
		"*/45 * * * *": "minute */45 leaves gaps of 45 and 15",
		"0 */5 * * *":  "hour */5 leaves gaps of 5 and 4",
		"0 0 */2 * *":  "day of month */2 leaves gaps of 2 and 1",
		"*/15 * * * *": "",
		"*/45 3 * * *": "",
		"0 */6 * * *":  "",
	} {
		got := ""
		if uneven, ok := parse(t, text, "").Uneven(); ok {
			got = uneven.String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzSchedulesAreReadInBoundedTime(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 0 31 2 *", "@every 1h", "TZ=Europe/Berlin 30 2 * * *", "*/7 1-5/2 ? jan-mar MON"} {
		f.Add(seed)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := cron.Parse(text, "")
		if err != nil {
			return
		}
		if next := s.Next(start); s.Possible() == next.IsZero() {
			t.Errorf("%q: possible is %t, next is %v", text, s.Possible(), next)
		}
		if s.ShortestInterval() <= 0 {
			t.Errorf("%q: shortest interval is %s", text, s.ShortestInterval())
		}
		s.ClockChanges(start)
	})
}

func TestParseNew_RefusesWhatTheAPIServerRefuses(t *testing.T) {
	for _, tc := range []struct {
		text, zone string
		valid      bool
	}{
		{"0 3 * * *", "", true}, {"0 3 * * *", "Europe/Berlin", true}, {"@every 6h", "", true}, {"@daily", "UTC", true},
		{"0 3 * * *", "Local", false}, {"0 3 * * *", "local", false}, {"0 3 * * *", "Europe/Atlantis", false}, {"0 3 * * *", "../UTC", false},
		{"TZ=UTC 0 3 * * *", "", false}, {"CRON_TZ=UTC 0 3 * * *", "", false}, {"TZ=0 3 * * *", "", false}, {"0 3 30 2 *", "", false}, {"0 3 * *", "", false}, {"", "", false},
	} {
		if _, err := cron.ParseNew(tc.text, tc.zone); (err == nil) != tc.valid {
			t.Errorf("%q in %q: error is %v", tc.text, tc.zone, err)
		}
	}
}
