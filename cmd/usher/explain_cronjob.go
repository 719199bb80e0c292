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
	"github.com/usher-dev/usher/policies"
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
		Use:     "cronjob PATH... | -f FILE",
		Aliases: []string{"cronjobs", "cj"},
		Short:   "Show the timeline of CronJobs: runs, gaps, daylight saving, outages",
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
					return fmt.Errorf("--from is %q; write a time such as 2026-01-31T12:00:00Z", flags.from)
				}
			}
			if err := flags.validate(); err != nil {
				return err
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
				errs = append(errs, fmt.Errorf("%s: no CronJob was found: name a file with apiVersion: batch/v1 and kind: CronJob", strings.Join(paths, ", ")))
			}
			if len(errs) > 0 {
				return cli.Exit(cli.Usage, errors.Join(errs...))
			}
			return nil
		},
	}
	cli.Filenames(cmd, &flags.files, "CronJobs")
	flags.output.Register(cmd, "text", "svg")
	cli.WithoutSelection(cmd)
	cli.WithoutCluster(cmd, "it reads files, and explains every CronJob in them")
	cmd.Flags().StringVar(&flags.from, "from", "", "start of the timeline in RFC 3339, such as 2026-01-31T12:00:00Z (default: now)")
	cmd.Flags().IntVar(&flags.runs, "runs", 5, "how many runs to list")
	cmd.Flags().DurationVar(&flags.outage, "outage", 6*time.Hour, "how long the controller is down in the example")
	cmd.Flags().DurationVar(&flags.duration, "duration", 0, "how long a run takes, such as 45m, to find runs that overlap (default: activeDeadlineSeconds of the Job)")
	return cmd
}

// validate reports every flag that is out of range.
func (f *cronFlags) validate() error {
	var errs []error
	if f.duration < 0 || f.duration > 366*24*time.Hour {
		errs = append(errs, fmt.Errorf("--duration is %s; write how long a run takes, such as 45m, up to 366 days (8784h)", f.duration))
	}
	if f.runs < 0 || f.runs > 10_000 {
		errs = append(errs, fmt.Errorf("--runs is %d; write a number from 0 to 10000", f.runs))
	}
	if f.outage < 0 || f.outage > 10*365*24*time.Hour {
		errs = append(errs, fmt.Errorf("--outage is %s; write how long the controller is down, such as 6h, up to ten years (87600h)", f.outage))
	}
	return errors.Join(errs...)
}

// newTimeline reads a CronJob.
func newTimeline(d *manifest.Document, from time.Time, duration time.Duration) (*timeline, error) {
	var c batchv1.CronJob
	decode := func(text []byte) error {
		c = batchv1.CronJob{}
		return kjson.UnmarshalCaseSensitivePreserveInts(text, &c)
	}
	if decode(d.JSON) != nil {
		var errs []error
		for _, m := range policies.Locate(d.JSON, decode, nil) {
			errs = append(errs, fmt.Errorf("%s: %s %s", d, m.Path, m.Message))
		}
		return nil, errors.Join(errs...)
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
