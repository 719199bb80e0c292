package transition

import (
	"reflect"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func job() Kind {
	rows := jobSuspended()
	rows = append(rows, jobFixed()...)
	return Kind{
		APIVersion: "batch/v1", Kind: "Job",
		Type:     reflect.TypeFor[batchv1.Job](),
		Rows:     append(rows, jobRunning()...),
		Defaults: []Default{elseInPlace},
	}
}

// againAsNew is the recipe for changing what is fixed at the creation of a Job.
var againAsNew = []string{
	"kubectl -n {namespace} get job {name} -o yaml > OLD.yaml # deleting the Job deletes its record",
	"kubectl -n {namespace} delete job {name} # stops its pods; work that is not idempotent starts over",
	"kubectl -n {namespace} create -f NEW.yaml",
}

// waiting reports whether the old Job is suspended and has never started.
func waiting(m *FieldChange) bool { return truth(lookup(m.Old, "spec", "suspend")) && !started(m) }

// stopped reports whether the old Job is suspended and its pods are gone.
func stopped(m *FieldChange) bool {
	return truth(lookup(m.Old, "spec", "suspend")) && integer(m.status("active"), 0) == 0 &&
		(!started(m) || m.condition("Suspended"))
}

func started(m *FieldChange) bool { return m.status("startTime") != nil }

// jobSuspended are the exceptions to the immutable template.
func jobSuspended() []Row {
	scheduling := []string{
		"spec.template.metadata.labels", "spec.template.metadata.annotations",
		"spec.template.spec.nodeSelector", "spec.template.spec.affinity.nodeAffinity",
		"spec.template.spec.tolerations", "spec.template.spec.schedulingGates",
	}
	return []Row{
		{
			ID: "job-waiting-scheduling", Paths: scheduling,
			When:    "the placement of the pods of a suspended Job that never started changes",
			Outcome: InPlace, applies: waiting, Assumes: "the Job has not started",
		},
		{
			ID: "job-stopped-scheduling", Paths: scheduling,
			When:    "the placement of the pods of a suspended Job whose pods are gone changes",
			Outcome: InPlace, Since: "1.36", applies: stopped, Assumes: "no pod of the Job runs",
		},
		{
			ID:      "job-suspended-resources",
			Paths:   []string{"spec.template.spec.containers[*].resources", "spec.template.spec.initContainers[*].resources"},
			When:    "the container resources of a suspended Job whose pods are gone change",
			Outcome: InPlace, Since: "1.36", applies: stopped, Assumes: "no pod of the Job runs",
		},
	}
}

// jobFixed are the fields that are fixed at creation.
func jobFixed() []Row {
	fixed := func(id, path, what, harm string) Row {
		return Row{
			ID: "job-" + id, Paths: []string{"spec." + path}, When: what + " changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant, Harm: harm, Steps: againAsNew,
		}
	}
	success := fixed("success-policy", "successPolicy", "the success policy", "the old policy judged the indexes that succeeded")
	success.Since = "1.31" // before it the API server drops the field
	managed := fixed("managed-by", "managedBy", "the managing controller", "two controllers would work on one Job")
	managed.applies = func(m *FieldChange) bool { // before 1.32 the API server drops it on creation
		return m.server.has("1.32") || m.To != nil
	}
	completions := fixed("completions", "completions", "completions", "the amount of work is fixed at creation, except for Indexed Jobs")
	completions.When = "completions of a Job that is not Indexed change"
	indexed := func(m *FieldChange) bool { return text(lookup(m.New, "spec", "completionMode")) == "Indexed" }
	completions.applies = func(m *FieldChange) bool { return !indexed(m) }
	return []Row{
		fixed("selector", "selector", "the selector", "would orphan the pods it counts"),
		fixed("template", "template", "the pod template", "all pods of a Job have the same template"),
		fixed("completion-mode", "completionMode", "the completion mode", "the pods' bookkeeping is fixed at creation"),
		fixed("pod-failure-policy", "podFailurePolicy", "the pod failure policy", "the old policy judged the pods that failed"),
		success,
		fixed("backoff-limit-per-index", "backoffLimitPerIndex", "backoffLimitPerIndex", "the old limit judged the indexes that failed"),
		managed,
		completions,
		{
			ID: "job-completions-tandem", Paths: []string{"spec.completions"}, When: "completions of an Indexed Job change, and differ from parallelism",
			Outcome: InSteps, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool {
				return indexed(m) && integer(m.To, 1) != integer(lookup(m.New, "spec", "parallelism"), 1)
			},
			Harm:  "an Indexed Job is resized by completions and parallelism together",
			Steps: []string{"set parallelism to the same number as completions", replaceAtOnce},
		},
		{
			ID: "job-completions-indexed", Paths: []string{"spec.completions"}, When: "completions of an Indexed Job change together with parallelism",
			Outcome: InPlace, applies: indexed,
			Harm: "when lowered, higher indexes are stopped and no longer count, whether or not they completed",
		},
	}
}

// jobRunning are changes that affect a running Job.
func jobRunning() []Row {
	finished := func(m *FieldChange) bool { return m.condition("Complete") || m.condition("Failed") }
	return []Row{
		{
			ID: "job-suspend", Paths: []string{"spec.suspend"}, When: "suspend becomes true",
			Outcome: InPlace, applies: became,
			Harm: "stops the running pods; what they have not saved is done again, and activeDeadlineSeconds starts over on resuming",
		},
		{
			ID: "job-resume", Paths: []string{"spec.suspend"}, When: "suspend becomes false",
			Outcome: InPlace, applies: ceased,
			Harm: "starts pods at once",
		},
		{
			ID: "job-parallelism", Paths: []string{"spec.parallelism"}, When: "parallelism is lowered",
			Outcome: InPlace, applies: lowered,
			Harm: "stops running pods; at 0 the Job waits forever",
		},
		{
			ID: "job-ttl-finished", Paths: []string{"spec.ttlSecondsAfterFinished"}, When: "ttlSecondsAfterFinished of a finished Job is set or lowered",
			Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline,
			applies: func(m *FieldChange) bool {
				return m.To != nil && (m.From == nil || lowered(m)) && finished(m)
			},
			Harm:  "deletes the Job, its pods and their logs, at once if the time has passed",
			Steps: []string{"kubectl -n {namespace} logs job/{name} --all-pods > LOGS # save the logs first"},
		},
		{
			ID: "job-active-deadline", Paths: []string{"spec.activeDeadlineSeconds"}, When: "activeDeadlineSeconds is set or lowered",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return m.To != nil && (m.From == nil || lowered(m)) },
			Harm: "fails the Job at once if it has already run for longer",
		},
		{
			ID: "job-backoff-limit", Paths: []string{"spec.backoffLimit"}, When: "backoffLimit is lowered",
			Outcome: InPlace, applies: lowered,
			Harm: "fails the Job at once if more pods have already failed",
		},
	}
}
