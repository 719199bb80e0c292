package cron

import (
	"fmt"
	"strconv"
	"strings"
)

// An UnevenStep is a step that does not divide its field, so that the last gap
// of each cycle is shorter than the others.
type UnevenStep struct {
	// Field is minute, hour, day of month or month.
	Field string
	// Text is the field as written.
	Text string
	// Step and Rest are the two gaps, in the field's unit.
	Step, Rest int
}

func (u UnevenStep) String() string {
	return fmt.Sprintf("%s %s leaves gaps of %d and %d", u.Field, u.Text, u.Step, u.Rest)
}

// Uneven finds a step such as */45 that does not divide its field evenly. A
// step in the minutes matters only if every hour has runs, and one in the hours
// only if every day has: otherwise there is a gap after the last run anyway.
func (s *Schedule) Uneven() (UnevenStep, bool) {
	fields := strings.Fields(s.Text)
	if len(fields) != 5 {
		return UnevenStep{}, false
	}
	for i, f := range []struct {
		name   string
		length int
		whole  bool
	}{
		{"minute", 60, s.EveryHour()},
		{"hour", 24, s.EveryDay()},
		{"day of month", 31, fields[3] == "*" && fields[4] == "*"},
		{"month", 12, true},
	} {
		text, ok := strings.CutPrefix(fields[i], "*/")
		if !ok || !f.whole {
			continue
		}
		step, err := strconv.Atoi(text)
		if err != nil || step < 2 || step >= f.length || f.length%step == 0 {
			continue
		}
		return UnevenStep{f.name, fields[i], step, f.length % step}, true
	}
	return UnevenStep{}, false
}
