package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// command runs a command line with an input.
func command(input string, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(context.Background(), args, streams{strings.NewReader(input), &o, &e})
	return status, o.String(), e.String()
}

const nightly = `apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "30 2 * * *"
  timeZone: Europe/Berlin
  startingDeadlineSeconds: 3600
  concurrencyPolicy: Forbid
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}}
`

func TestExplainCronJobDrawsTheTimeline(t *testing.T) {
	status, out, errs := command(nightly, "explain", "cronjob", "-", "--from", "2026-03-27T12:00:00Z", "--runs", "3", "--outage", "48h")
	if status != cli.Clean || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	want := `cronjob/nightly: 30 2 * * *, in Europe/Berlin

Next runs after Fri 2026-03-27 13:00:00 CET:
  Sat 2026-03-28 02:30:00 CET
  Mon 2026-03-30 02:30:00 CEST  (47h later)
  Tue 2026-03-31 02:30:00 CEST  (24h later)

Gaps: 1h at least (from Sun 2026-10-25 02:30:00 CEST), 47h at most (from Sat 2026-03-28 02:30:00 CET).

Daylight saving in the next year:
  Sun 2026-03-29 03:00:00 CEST, by 1h: 2026-03-29 02:30 does not exist and is skipped
  Sun 2026-10-25 02:00:00 CET, by -1h: 2026-10-25 02:30 occurs twice and runs twice

If the controller were down for the next 2 days, 1 run would be missed, from Sat 2026-03-28 02:30:00 CET to Sat 2026-03-28 02:30:00 CET.
None would be caught up: the last is longer ago than startingDeadlineSeconds (1h).
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
}

func TestExplainCronJobSaysWhatNeverRuns(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"an impossible day":  {"30 2 * * *", "0 0 31 2 *", "never runs: no month has such a day"},
		"a deadline of zero": {"startingDeadlineSeconds: 3600", "startingDeadlineSeconds: 0", "never runs: startingDeadlineSeconds is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, _ := command(strings.Replace(nightly, c.old, c.new, 1), "explain", "cronjob", "-")
			if status != cli.Clean || !strings.Contains(out, c.want) {
				t.Errorf("status %d, output %q", status, out)
			}
		})
	}
}

func TestExplainCronJobRefusesOtherInput(t *testing.T) {
	for name, input := range map[string]string{
		"another kind":       "apiVersion: v1\nkind: Pod\n",
		"a broken schedule":  strings.Replace(nightly, "30 2 * * *", "30 2", 1),
		"a wrong type":       strings.Replace(nightly, "3600", "soon", 1),
		"nothing but spaces": "  \n",
	} {
		t.Run(name, func(t *testing.T) {
			if status, out, errs := command(input, "explain", "cronjob", "-"); status != cli.Usage || out != "" || errs == "" {
				t.Errorf("status %d, stdout %q, stderr %q", status, out, errs)
			}
		})
	}
}

func TestExplainRule(t *testing.T) {
	status, out, _ := command("", "explain", "rule", "job-restart-policy")
	if status != cli.Clean || !strings.Contains(out, "write `restartPolicy: Never`") {
		t.Errorf("status %d, output %q", status, out)
	}
	status, _, errs := command("", "explain", "rule", "restart-policy")
	if status != cli.Usage || !strings.Contains(errs, "did you mean job-restart-policy, workload-restart-policy?") {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

func TestRulesAreListed(t *testing.T) {
	for _, format := range []string{"text", "json", "yaml", "markdown"} {
		if status, out, errs := command("", "rules", "-o", format); status != cli.Clean || !strings.Contains(out, "cronjob-deadline-zero") {
			t.Errorf("%s: status %d, stderr %q", format, status, errs)
		}
	}
	if status, _, _ := command("", "rules", "-o", "xml"); status != cli.Usage {
		t.Errorf("status %d for an unknown format", status)
	}
}
