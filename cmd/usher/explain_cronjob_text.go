package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/usher-dev/usher/cli/page"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/cron"
)

// shownTime is the format of times in a timeline.
const shownTime = "Mon 2006-01-02 15:04:05 MST"

func writeTimelines(w io.Writer, timelines []*timeline, flags cronFlags) error {
	var b strings.Builder
	for i, l := range timelines {
		if i > 0 {
			b.WriteByte('\n')
		}
		l.write(&b, flags)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *timeline) write(out io.Writer, flags cronFlags) {
	fmt.Fprintf(out, "%s: %s, %s\n", l.doc, l.spec.Schedule, zoneText(l.Schedule, l.zone))
	if l.suspended() {
		fmt.Fprintln(out, "It is suspended: nothing below happens until it is resumed.")
	}
	if never := l.never(); never != "" {
		fmt.Fprintln(out, never)
		return
	}
	s, from := l.Schedule, l.from
	fmt.Fprintf(out, "\nNext runs after %s:\n", from.Format(shownTime))
	previous := time.Time{}
	for _, run := range s.Upcoming(from, flags.runs) {
		fmt.Fprintf(out, "  %s", run.Format(shownTime))
		if !previous.IsZero() {
			fmt.Fprintf(out, "  (%s later)", length(run.Sub(previous)))
		}
		fmt.Fprintln(out)
		previous = run
	}
	writeGaps(out, s, from)
	writeClockChanges(out, s, from)
	if l.duration > 0 {
		c := l.Calendar(from, l.duration)
		fmt.Fprintf(out, "\n%s\n", l.overlaps(&c))
	}
	writeOutage(out, s, l.spec, from, flags.outage)
}

// overlaps says how many runs of a calendar overlap, and what then happens.
func (l *timeline) overlaps(c *cron.Calendar) string {
	takes := "if each run takes " + length(l.duration)
	if l.assumed {
		takes += ", the Job's activeDeadlineSeconds"
	}
	if c.Overlapping == 0 {
		return "Overlaps: none, " + takes + "."
	}
	text := fmt.Sprintf("Overlaps: %s, %s of %s of the year come due while the previous one runs, the first on %s: ", takes, page.Number(c.Overlapping), page.Count(c.Runs, "run"), c.First.Format(shownTime))
	switch l.spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
		return text + "they start late or never (concurrencyPolicy Forbid)."
	case batchv1.ReplaceConcurrent:
		return text + "each deletes the previous Job before it has ended (concurrencyPolicy Replace)."
	}
	return text + fmt.Sprintf("up to %d run at once (concurrencyPolicy Allow).", c.AtOnce)
}

func zoneText(s *cron.Schedule, zone string) string {
	switch {
	case zone != "":
		return "in " + zone
	case s.Location != time.UTC:
		return "in " + s.Location.String() + " (from the schedule; write it into timeZone)"
	}
	return "in the controller's time zone, assumed to be UTC"
}

func writeGaps(out io.Writer, s *cron.Schedule, from time.Time) {
	shortest, longest, ok := s.Gaps(from)
	switch {
	case !ok:
		fmt.Fprintln(out, "\nGaps: at most one run is ahead.")
	case shortest.Length() == longest.Length():
		fmt.Fprintf(out, "\nGaps: always %s.\n", length(shortest.Length()))
	default:
		fmt.Fprintf(out, "\nGaps: %s at least (from %s), %s at most (from %s).\n", length(shortest.Length()), shortest.From.Format(shownTime), length(longest.Length()), longest.From.Format(shownTime))
	}
	if uneven, ok := s.Uneven(); ok {
		fmt.Fprintf(out, "The step does not divide its field evenly: %s.\n", uneven)
	}
	if s.EitherDay() {
		fmt.Fprintln(out, "It runs when the day of the month or the day of the week matches, not when both do.")
	}
}

func writeClockChanges(out io.Writer, s *cron.Schedule, from time.Time) {
	changes := s.ClockChanges(from)
	if len(changes) == 0 {
		fmt.Fprintln(out, "\nDaylight saving neither skips nor repeats a run in the next year.")
		return
	}
	fmt.Fprintln(out, "\nDaylight saving in the next year:")
	for _, c := range changes {
		fmt.Fprintf(out, "  %s, by %s:", c.At.In(s.Location).Format(shownTime), length(c.Shift))
		for _, t := range c.Skipped {
			fmt.Fprintf(out, " %s does not exist and is skipped", t)
		}
		for _, t := range c.Doubled {
			fmt.Fprintf(out, " %s occurs twice and runs twice", t)
		}
		fmt.Fprintln(out)
	}
}

func writeOutage(out io.Writer, s *cron.Schedule, spec *batchv1.CronJobSpec, from time.Time, outage time.Duration) {
	var deadline *time.Duration
	if spec.StartingDeadlineSeconds != nil {
		d := time.Duration(*spec.StartingDeadlineSeconds) * time.Second
		deadline = &d
	}
	r := s.Outage(from, from.Add(outage), deadline)
	fmt.Fprintf(out, "\nIf the controller were down for the next %s, ", length(outage))
	if r.Missed == 0 {
		fmt.Fprintln(out, "no run would be missed.")
		return
	}
	fmt.Fprintf(out, "%s would be missed, from %s to %s.\n", finding.Count(r.Missed, "run"), r.First.Format(shownTime), r.Last.Format(shownTime))
	if r.Late.IsZero() {
		fmt.Fprintf(out, "None would be caught up: the last is longer ago than startingDeadlineSeconds (%s).\n", length(*deadline))
	} else {
		fmt.Fprintf(out, "Afterwards it would start one of them, that of %s, %s late%s; the others would never run.\n", r.Late.Format(shownTime), length(from.Add(outage).Sub(r.Late)), concurrencyText(spec.ConcurrencyPolicy))
	}
	if r.TooManyMissedTimes {
		fmt.Fprintln(out, "With more than a hundred missed runs the controller emits the event TooManyMissedTimes. (Before Kubernetes 1.21 the CronJob stopped for good.)")
	}
}

func concurrencyText(policy batchv1.ConcurrencyPolicy) string {
	switch policy {
	case batchv1.ForbidConcurrent:
		return ", once the previous Job has ended (concurrencyPolicy Forbid)"
	case batchv1.ReplaceConcurrent:
		return ", deleting the previous Job if it still runs (concurrencyPolicy Replace)"
	}
	return ", next to the previous Job if it still runs (concurrencyPolicy Allow)"
}

// length formats a duration without superfluous zeros.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero) + 1; n > 0 && text[n-1:] == zero {
			text = text[:n]
		}
	}
	return text
}
