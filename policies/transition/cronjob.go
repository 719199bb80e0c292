package transition

import (
	"reflect"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func cronJob() Kind {
	historyZero := func(id, path, what string) Row {
		return Row{
			ID: id, Paths: []string{path}, When: "the limit becomes 0",
			Outcome: Irreversible, applies: toZero,
			Harm: "deletes every " + what + " Job, its pods and their logs",
		}
	}
	historyLess := func(id, path, what string) Row {
		return Row{
			ID: id, Paths: []string{path}, When: "the limit is lowered, not to 0",
			Outcome: InPlace, applies: lowered,
			Harm: "deletes the oldest " + what + " Jobs, their pods and their logs",
		}
	}
	return Kind{
		APIVersion: "batch/v1", Kind: "CronJob",
		Type: reflect.TypeFor[batchv1.CronJob](),
		Rows: []Row{
			{
				ID: "cronjob-unsuspend", Paths: []string{"spec.suspend"}, When: "suspend becomes false, and startingDeadlineSeconds is not set",
				Outcome: InSteps, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline,
				applies: func(m *FieldChange) bool {
					return ceased(m) && lookup(m.New, "spec", "startingDeadlineSeconds") == nil
				},
				Harm: "the last run missed while suspended starts at once, at whatever time of day that is",
				Steps: []string{
					"kubectl -n {namespace} patch cronjob {name} -p '{\"spec\":{\"startingDeadlineSeconds\":200}}'",
					"kubectl -n {namespace} patch cronjob {name} -p '{\"spec\":{\"suspend\":false}}'",
				},
			},
			{
				ID: "cronjob-resume", Paths: []string{"spec.suspend"}, When: "suspend becomes false, and startingDeadlineSeconds is set",
				Outcome: InPlace, applies: ceased,
				Harm: "a run missed within the last startingDeadlineSeconds starts at once",
			},
			{
				ID: "cronjob-suspend", Paths: []string{"spec.suspend"}, When: "suspend becomes true",
				Outcome: InPlace, applies: became,
				Harm: "running Jobs continue; runs from now on are skipped, not postponed",
			},
			{
				ID: "cronjob-schedule", Paths: []string{"spec.schedule", "spec.timeZone"}, When: "the times change",
				Outcome: InPlace,
				Harm:    "a new time that passed since the last run counts as missed, and the run starts at once",
			},
			{
				ID: "cronjob-concurrency-replace", Paths: []string{"spec.concurrencyPolicy"}, When: "the policy becomes Replace",
				Outcome: InPlace, applies: to("Replace"),
				Harm: "the controller kills the running Job when the next one is due",
			},
			{
				ID: "cronjob-concurrency-forbid", Paths: []string{"spec.concurrencyPolicy"}, When: "the policy becomes Forbid",
				Outcome: InPlace, applies: to("Forbid"),
				Harm: "the next run is skipped while a Job runs, even if that Job hangs forever",
			},
			{
				ID: "cronjob-concurrency-allow", Paths: []string{"spec.concurrencyPolicy"}, When: "the policy becomes Allow",
				Outcome: InPlace, applies: to("Allow"),
				Harm: "the next run starts while an earlier Job still runs",
			},
			{
				ID: "cronjob-job-template", Paths: []string{"spec.jobTemplate"}, When: "the Job's template changes",
				Outcome: InPlace,
				Harm:    "takes effect with the next run; existing Jobs keep the old template",
			},
			historyZero("cronjob-success-history-zero", "spec.successfulJobsHistoryLimit", "successful"),
			historyLess("cronjob-success-history-less", "spec.successfulJobsHistoryLimit", "successful"),
			historyZero("cronjob-failure-history-zero", "spec.failedJobsHistoryLimit", "failed"),
			historyLess("cronjob-failure-history-less", "spec.failedJobsHistoryLimit", "failed"),
		},
		Defaults: []Default{elseInPlace},
	}
}
