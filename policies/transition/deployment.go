package transition

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func deployment() Kind {
	return Kind{
		APIVersion: "apps/v1", Kind: "Deployment",
		Type: reflect.TypeFor[appsv1.Deployment](),
		Rows: []Row{
			{
				ID: "deploy-selector", Paths: []string{"spec.selector"}, When: "the selector changes",
				Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
				Harm: "would orphan the ReplicaSets and pods that the old selector found",
				Steps: []string{
					"kubectl -n {namespace} get replicasets -o name -l OLD-SELECTOR # note the old ReplicaSets",
					"kubectl -n {namespace} delete deployment {name} --cascade=orphan # the pods keep running",
					"kubectl -n {namespace} apply -f NEW.yaml",
					"kubectl -n {namespace} rollout status deployment/{name}",
					"kubectl -n {namespace} delete OLD-REPLICASETS # once Services find the new pods",
				},
			},
			{
				ID: "deploy-replicas-unset", Paths: []string{"spec.replicas"}, When: "the manifest stops setting replicas (was above 1)",
				Outcome: InSteps, applies: handedOver,
				Harm: "scales to the default of 1 until an autoscaler raises it again",
				Steps: []string{
					"kubectl -n {namespace} apply edit-last-applied deployment/{name} # remove spec.replicas there",
					replaceAtOnce,
				},
			},
			{
				ID: "deploy-scale-to-zero", Paths: []string{"spec.replicas"}, When: "replicas become 0",
				Outcome: InPlace, applies: toZero,
				Harm: "stops every pod at once; Services of these pods have no endpoints, and an autoscaler is disabled",
			},
			{
				ID: "deploy-history-zero", Paths: []string{"spec.revisionHistoryLimit"}, When: "the limit becomes 0",
				Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline, applies: toZero,
				Harm:  "deletes every old ReplicaSet: no rollback is possible, and raising the limit does not bring them back",
				Steps: []string{"keep at least one old revision: revisionHistoryLimit: 1"},
			},
			{
				ID: "deploy-history-less", Paths: []string{"spec.revisionHistoryLimit"}, When: "the limit is lowered, not to 0",
				Outcome: InPlace, applies: lowered,
				Harm: "deletes the oldest revisions beyond the limit; users can no longer roll back to them",
			},
			{
				ID: "deploy-pause", Paths: []string{"spec.paused"}, When: "paused becomes true",
				Outcome: InPlace, applies: became,
				Harm: "later changes of the template wait until the Deployment is resumed; a rollout in progress stops halfway",
			},
			{
				ID: "deploy-resume", Paths: []string{"spec.paused"}, When: "paused becomes false",
				Outcome: Rollout, applies: ceased,
				Harm: "immediately rolls out everything that changed while it was paused",
			},
			{
				ID: "deploy-strategy-recreate", Paths: []string{"spec.strategy.type"}, When: "the strategy becomes Recreate",
				Outcome: InPlace, applies: to("Recreate"),
				Harm: "from now on every rollout is an outage: all old pods stop before a new one starts",
			},
			{
				ID: "deploy-strategy-rolling", Paths: []string{"spec.strategy.type"}, When: "the strategy becomes RollingUpdate",
				Outcome: InPlace, applies: to("RollingUpdate"),
				Harm: "from now on old and new pods run side by side during a rollout, which a ReadWriteOnce volume or a singleton does not tolerate",
			},
			{
				ID: "deploy-min-ready-seconds", Paths: []string{"spec.minReadySeconds"}, When: "minReadySeconds is raised",
				Outcome: InPlace, applies: raised,
				Harm: "pods younger than that no longer count as available, and rollouts take longer",
			},
			{
				ID: "deploy-progress-deadline", Paths: []string{"spec.progressDeadlineSeconds"}, When: "progressDeadlineSeconds is lowered",
				Outcome: InPlace, applies: lowered,
				Harm: "a rollout in progress may be reported as failed (ProgressDeadlineExceeded)",
			},
			{
				ID: "deploy-template-paused", Paths: []string{"spec.template"}, When: "the Deployment is paused",
				Outcome: InSteps, applies: func(m *FieldChange) bool { return truth(lookup(m.New, "spec", "paused")) },
				Harm:  "has no effect while the Deployment is paused",
				Steps: []string{replaceAtOnce, "kubectl -n {namespace} rollout resume deployment/{name}"},
			},
			{
				ID: "deploy-template-recreate", Paths: []string{"spec.template"}, When: "the strategy is Recreate",
				Outcome: Rollout, applies: func(m *FieldChange) bool { return text(lookup(m.New, "spec", "strategy", "type")) == "Recreate" },
				Harm: "is an outage: all old pods stop before a new one starts",
			},
			{
				ID: "deploy-template-labels", Paths: []string{"spec.template.metadata.labels"}, When: "a pod label outside the selector changes",
				Outcome: Rollout,
				Harm:    "Services, PodDisruptionBudgets and NetworkPolicies that select by the old label lose the new pods",
			},
		},
		Defaults: []Default{podTemplateRollout, elseInPlace},
	}
}
