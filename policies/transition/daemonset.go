package transition

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func daemonSet() Kind {
	onDelete := func(m *FieldChange) bool { return text(lookup(m.New, "spec", "updateStrategy", "type")) == "OnDelete" }
	return Kind{
		APIVersion: "apps/v1", Kind: "DaemonSet",
		Type: reflect.TypeFor[appsv1.DaemonSet](),
		Rows: []Row{
			{
				ID: "ds-selector", Paths: []string{"spec.selector"}, When: "the selector changes",
				Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
				Harm: "would orphan the pods that the old selector found",
				Steps: []string{
					"kubectl -n {namespace} delete daemonset {name} --cascade=orphan # the pods keep running",
					"kubectl -n {namespace} delete pods -l OLD-SELECTOR # first if old and new pods conflict, such as on a hostPort",
					"kubectl -n {namespace} apply -f NEW.yaml",
				},
			},
			{
				ID: "ds-on-delete", Paths: []string{"spec.updateStrategy.type"}, When: "the strategy becomes OnDelete",
				Outcome: InPlace, applies: to("OnDelete"),
				Harm: "from now on a change of the template reaches a pod only once somebody deletes that pod",
			},
			{
				ID: "ds-rolling", Paths: []string{"spec.updateStrategy.type"}, When: "the strategy becomes RollingUpdate",
				Outcome: Rollout, applies: to("RollingUpdate"),
				Harm: "immediately replaces every pod that is older than the template",
			},
			{
				ID: "ds-history-zero", Paths: []string{"spec.revisionHistoryLimit"}, When: "the limit becomes 0",
				Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline, applies: toZero,
				Harm:  "deletes every old ControllerRevision: no rollback is possible, and raising the limit does not bring them back",
				Steps: []string{"keep at least one old revision: revisionHistoryLimit: 1"},
			},
			{
				ID: "ds-min-ready-seconds", Paths: []string{"spec.minReadySeconds"}, When: "minReadySeconds is raised",
				Outcome: InPlace, applies: raised,
				Harm: "pods younger than that no longer count as available, and rollouts take longer",
			},
			{
				ID: "ds-node-placement", When: "the nodes that it runs on change",
				Paths:   []string{"spec.template.spec.nodeSelector", "spec.template.spec.affinity.nodeAffinity", "spec.template.spec.tolerations"},
				Outcome: Rollout,
				Harm:    "immediately starts pods on nodes that now match, and deletes those on nodes that no longer do, whatever the update strategy",
			},
			{
				ID: "ds-template-on-delete", Paths: []string{"spec.template"}, When: "the strategy is OnDelete",
				Outcome: InSteps, applies: onDelete,
				Harm:  "has no effect on running pods",
				Steps: []string{replaceAtOnce, "kubectl -n {namespace} delete pod POD # node by node"},
			},
		},
		Defaults: []Default{podTemplateRollout, elseInPlace},
	}
}
