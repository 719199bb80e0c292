package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	kjson "sigs.k8s.io/json"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/manifest"
	"github.com/usher-dev/usher/policies/cron"
)

// cronFlags are the flags for a timeline.
type cronFlags struct {
	files  []string
	from   string
	runs   int
	outage time.Duration
}

func newExplainCronJob(s streams) *cobra.Command {
	flags := cronFlags{}
	cmd := &cobra.Command{
		Use:   "cronjob PATH... | -f FILE",
		Short: "Show the timeline of CronJobs: runs, gaps, daylight saving, outages",
		Long: `Show the timeline of every CronJob in a file: the next runs, the shortest and the
longest gap of a year, the effect of daylight saving, and what happens to the
runs that the controller misses during an outage.`,
		ValidArgsFunction: cli.Manifests,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := inputPaths(args, flags.files)
			if err == nil {
				err = expectStdin(s, paths)
			}
			if err != nil {
				return err
			}
			from := time.Now()
			if flags.from != "" {
				if from, err = time.Parse(time.RFC3339, flags.from); err != nil {
					return fmt.Errorf("--from %q is not a time: write it as 2026-01-31T12:00:00Z", flags.from)
				}
			}
			if flags.runs < 0 || flags.runs > 10_000 || flags.outage < 0 || flags.outage > 10*365*24*time.Hour {
				return errors.New("--runs or --outage is out of range: write --runs from 0 to 10000, and --outage up to ten years")
			}
			docs, errs := read(cmd.Context(), paths, s.in)
			found := 0
			for _, d := range docs {
				if d.APIVersion != "batch/v1" || d.Kind != "CronJob" {
					continue
				}
				if found++; found > 1 {
					fmt.Fprintln(s.out)
				}
				if err := explainCronJob(s.out, d, from, flags); err != nil {
					errs = append(errs, &manifest.Error{File: d.File, Line: d.Line, Err: err})
				}
			}
			if len(docs) == 0 && len(errs) == 0 {
				errs = append(errs, withoutObjects(paths))
			}
			if found == 0 && len(errs) == 0 {
				errs = append(errs, fmt.Errorf("%s: no CronJob of batch/v1", strings.Join(paths, ", ")))
			}
			if len(errs) > 0 {
				return cli.Exit(cli.Usage, errors.Join(errs...))
			}
			return nil
		},
	}
	cli.Filenames(cmd, &flags.files, "CronJobs")
	cmd.Flags().StringVar(&flags.from, "from", "", "start of the timeline in RFC 3339, such as 2026-01-31T12:00:00Z (default: now)")
	cmd.Flags().IntVar(&flags.runs, "runs", 5, "how many runs to list")
	cmd.Flags().DurationVar(&flags.outage, "outage", 6*time.Hour, "how long the controller is down in the example")
	return cmd
}

// shownTime is the format of times in a timeline.
const shownTime = "Mon 2006-01-02 15:04:05 MST"

func explainCronJob(out io.Writer, d *manifest.Document, from time.Time, flags cronFlags) error {
	var c batchv1.CronJob
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.JSON, &c); err != nil {
		return fmt.Errorf("%s does not decode: %w", d, err)
	}
	zone := ""
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	s, err := cron.Parse(c.Spec.Schedule, zone)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	from = from.In(s.Location)
	fmt.Fprintf(out, "%s: %s, %s\n", d, c.Spec.Schedule, zoneText(s, zone))
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		fmt.Fprintln(out, "It is suspended: nothing below happens until it is resumed.")
	}
	if !s.Possible() {
		fmt.Fprintln(out, "It never runs: no month has such a day.")
		return nil
	}
	if d := c.Spec.StartingDeadlineSeconds; d != nil && *d == 0 {
		fmt.Fprintln(out, "It never runs: startingDeadlineSeconds is 0, and no run can start within 0 seconds.")
		return nil
	}
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
	writeOutage(out, s, &c.Spec, from, flags.outage)
	return nil
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
	fmt.Fprintf(out, "%d run(s) would be missed, from %s to %s.\n", r.Missed, r.First.Format(shownTime), r.Last.Format(shownTime))
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
