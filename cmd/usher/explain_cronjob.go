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

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/policies/cron"
)

// cronFlags are the flags for a timeline.
type cronFlags struct {
	output           cli.Outputs
	files            []string
	from             string
	runs             int
	outage, duration time.Duration
}

// A timeline is what a CronJob does from a moment on.
type timeline struct {
	*cron.Schedule
	doc  *manifest.Document
	spec *batchv1.CronJobSpec
	zone string
	from time.Time
	// duration is how long a run is expected to take, 0 if unknown; assumed is
	// true if it is only the Job's deadline.
	duration time.Duration
	assumed  bool
}

func newExplainCronJob(s streams) *cobra.Command {
	flags := cronFlags{}
	cmd := &cobra.Command{
		Use:   "cronjob PATH... | -f FILE",
		Short: "Show the timeline of CronJobs: runs, gaps, daylight saving, outages",
		Long: `Show the timeline of every CronJob in a file: the next runs, the shortest and the
longest gap of a year, the effect of daylight saving, the runs that overlap if
each takes the time of --duration, and what happens to the runs that the
controller misses during an outage.

-o svg=FILE draws a year of runs as a calendar.`,
		Example: `  usher explain cronjob nightly.yaml
  usher explain cronjob -o svg=year.svg --duration 45m nightly.yaml`,
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
			if flags.duration < 0 || flags.duration > 366*24*time.Hour {
				return errors.New("--duration is out of range: write how long a run takes, such as 45m, up to 366 days")
			}
			if flags.runs < 0 || flags.runs > 10_000 || flags.outage < 0 || flags.outage > 10*365*24*time.Hour {
				return errors.New("--runs or --outage is out of range: write --runs from 0 to 10000, and --outage up to ten years")
			}
			docs, errs := read(cmd.Context(), paths, s.in)
			var timelines []*timeline
			found := 0
			for _, d := range docs {
				if d.APIVersion != "batch/v1" || d.Kind != "CronJob" {
					continue
				}
				found++
				line, err := newTimeline(d, from, flags.duration)
				if err != nil {
					errs = append(errs, &manifest.Error{File: d.File, Line: d.Line, Err: err})
					continue
				}
				timelines = append(timelines, line)
			}
			err = flags.output.Write(s.out, func(w io.Writer, format string) error {
				if format == "svg" {
					return writeCalendars(w, timelines)
				}
				return writeTimelines(w, timelines, flags)
			})
			if err != nil {
				errs = append(errs, err)
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
	flags.output.Register(cmd, "text", "svg")
	cmd.Flags().StringVar(&flags.from, "from", "", "start of the timeline in RFC 3339, such as 2026-01-31T12:00:00Z (default: now)")
	cmd.Flags().IntVar(&flags.runs, "runs", 5, "how many runs to list")
	cmd.Flags().DurationVar(&flags.outage, "outage", 6*time.Hour, "how long the controller is down in the example")
	cmd.Flags().DurationVar(&flags.duration, "duration", 0, "how long a run takes, such as 45m, to find runs that overlap (default: activeDeadlineSeconds of the Job)")
	return cmd
}

// newTimeline reads a CronJob.
func newTimeline(d *manifest.Document, from time.Time, duration time.Duration) (*timeline, error) {
	var c batchv1.CronJob
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.JSON, &c); err != nil {
		return nil, fmt.Errorf("%s does not decode: %w", d, err)
	}
	l := &timeline{doc: d, spec: &c.Spec, duration: duration}
	if c.Spec.TimeZone != nil {
		l.zone = *c.Spec.TimeZone
	}
	var err error
	if l.Schedule, err = cron.Parse(c.Spec.Schedule, l.zone); err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	l.from = from.In(l.Location)
	if deadline := c.Spec.JobTemplate.Spec.ActiveDeadlineSeconds; duration == 0 && deadline != nil && *deadline > 0 {
		l.duration, l.assumed = time.Duration(min(*deadline, maxDeadline))*time.Second, true
	}
	return l, nil
}

// maxDeadline limits activeDeadlineSeconds, which no calendar exceeds.
const maxDeadline = 366 * 24 * 60 * 60

// never says why the CronJob never runs, "" if it does.
func (l *timeline) never() string {
	switch deadline := l.spec.StartingDeadlineSeconds; {
	case !l.Possible():
		return "It never runs: no month has such a day."
	case deadline != nil && *deadline == 0:
		return "It never runs: startingDeadlineSeconds is 0, and no run can start within 0 seconds."
	}
	return ""
}

// suspended reports whether the CronJob waits to be resumed.
func (l *timeline) suspended() bool { return l.spec.Suspend != nil && *l.spec.Suspend }
