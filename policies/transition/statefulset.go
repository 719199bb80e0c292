package transition

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func statefulSet() Kind {
	k := Kind{
		APIVersion: "apps/v1", Kind: "StatefulSet",
		Type: reflect.TypeFor[appsv1.StatefulSet](),
		Defaults: []Default{
			podTemplateRollout,
			{Path: "spec.updateStrategy", Outcome: InPlace},
			{Path: "spec.replicas", Outcome: InPlace},
			{Path: "spec.minReadySeconds", Outcome: InPlace},
			{Path: "spec.ordinals", Outcome: InPlace},
			{Path: "spec.revisionHistoryLimit", Outcome: InPlace, Since: "1.33"},
			{Path: "spec.persistentVolumeClaimRetentionPolicy", Outcome: InPlace},
			{
				Path: "spec", Outcome: Recreate, RefusedBy: Server,
				Harm: "every field except replicas, ordinals, template, updateStrategy, revisionHistoryLimit (since Kubernetes 1.33), persistentVolumeClaimRetentionPolicy and minReadySeconds is fixed at creation",
				Steps: []string{
					"kubectl -n {namespace} delete statefulset {name} --cascade=orphan",
					"kubectl -n {namespace} apply -f NEW.yaml",
				},
			},
			elseInPlace,
		},
	}
	k.Rows = append(k.Rows, statefulSetFixed()...)
	k.Rows = append(k.Rows, statefulSetScale()...)
	k.Rows = append(k.Rows, statefulSetClaims()...)
	k.Rows = append(k.Rows, statefulSetUpdates()...)
	return k
}

// statefulSetFixed are the fields that are fixed at creation.
func statefulSetFixed() []Row {
	readopt := []string{
		"kubectl -n {namespace} delete statefulset {name} --cascade=orphan # pods and claims stay",
		"kubectl -n {namespace} apply -f NEW.yaml # adopts the pods it selects",
	}
	return []Row{
		{
			ID: "sts-selector", Paths: []string{"spec.selector"}, When: "the selector changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			Harm: "would orphan the pods that the old selector found, which have the names that the new ones need",
			Steps: []string{
				"kubectl -n {namespace} delete statefulset {name} --cascade=orphan # claims stay",
				"kubectl -n {namespace} delete pods -l OLD-SELECTOR # an outage: the names must be free",
				"kubectl -n {namespace} apply -f NEW.yaml # the claims are found by name",
			},
		},
		{
			ID: "sts-volume-claim-templates", Paths: []string{"spec.volumeClaimTemplates"}, When: "a claim template changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			Harm: "the template never changes existing claims; only claims created later follow it",
			Steps: []string{
				"to grow: kubectl -n {namespace} patch pvc CLAIM -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"SIZE\"}}}}' # each claim, if its class allows expansion",
				"kubectl -n {namespace} delete statefulset {name} --cascade=orphan # pods and claims stay",
				"kubectl -n {namespace} apply -f NEW.yaml # adopts the pods it selects",
			},
		},
		{
			ID: "sts-service-name", Paths: []string{"spec.serviceName"}, When: "the governing Service changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			Harm:  "the DNS names by which clients and peers reach the pods change",
			Steps: append(readopt[:2:2], "kubectl -n {namespace} rollout restart statefulset/{name} # pods get their DNS name at creation"),
		},
		{
			ID: "sts-pod-management", Paths: []string{"spec.podManagementPolicy"}, When: "podManagementPolicy changes",
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
			Harm:  "the order in which pods start and stop is fixed at creation",
			Steps: readopt,
		},
	}
}

// statefulSetScale: the order matters, and rows that lose data come first.
func statefulSetScale() []Row {
	deletes := func(m *FieldChange) bool {
		return text(lookup(m.New, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled")) == "Delete"
	}
	safe := []string{
		"kubectl -n {namespace} patch statefulset {name} -p '{\"spec\":{\"persistentVolumeClaimRetentionPolicy\":{\"whenScaled\":\"Retain\"}}}'",
		"kubectl -n {namespace} scale statefulset {name} --replicas=N",
		"back the claims up, then delete those that are not needed",
	}
	return []Row{
		{
			ID: "sts-pvc-delete", Paths: []string{"spec.replicas"}, When: "replicas are lowered while whenScaled is Delete",
			Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline, Since: "1.27",
			applies: func(m *FieldChange) bool { return lowered(m) && deletes(m) },
			Harm:    "deletes the claims of the removed pods, and their data unless the volumes are retained",
			Steps:   safe,
		},
		{
			ID: "sts-ordinals-pvc-delete", Paths: []string{"spec.ordinals"}, When: "the first ordinal changes while whenScaled is Delete",
			Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline, Since: "1.27", applies: deletes,
			Harm:  "deletes the claims of the pods whose ordinals fall out of the range, and their data",
			Steps: safe[:1],
		},
		{
			ID: "sts-ordinals", Paths: []string{"spec.ordinals"}, When: "the first ordinal changes",
			Outcome: Rollout, Since: "1.27",
			Harm: "stops the pods whose ordinals fall out of the range and starts others under new names, with new, empty claims",
		},
		{
			ID: "sts-replicas-unset", Paths: []string{"spec.replicas"}, When: "the manifest stops setting replicas (was above 1)",
			Outcome: InSteps, applies: handedOver,
			Harm: "scales to the default of 1 until an autoscaler raises it again",
			Steps: []string{
				"kubectl -n {namespace} apply edit-last-applied statefulset/{name} # remove spec.replicas there",
				replaceAtOnce,
			},
		},
		{
			ID: "sts-scale-to-zero", Paths: []string{"spec.replicas"}, When: "replicas become 0",
			Outcome: InPlace, applies: toZero,
			Harm: "stops every pod; the claims stay, with their data and cost",
		},
		{
			ID: "sts-scale-down", Paths: []string{"spec.replicas"}, When: "replicas are lowered",
			Outcome: InPlace, applies: lowered,
			Harm: "the claims of the removed pods stay; scaling up again attaches their old data, which peers may reject",
		},
	}
}

// statefulSetClaims are rows about the later fate of claims.
func statefulSetClaims() []Row {
	return []Row{
		{
			ID: "sts-pvc-when-scaled", Paths: []string{"spec.persistentVolumeClaimRetentionPolicy.whenScaled"}, When: "whenScaled becomes Delete",
			Outcome: InPlace, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Strict, Since: "1.27", applies: to("Delete"),
			Harm: "from now on scaling down, by an autoscaler too, deletes data",
		},
		{
			ID: "sts-pvc-when-deleted", Paths: []string{"spec.persistentVolumeClaimRetentionPolicy.whenDeleted"}, When: "whenDeleted becomes Delete",
			Outcome: InPlace, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Strict, Since: "1.27", applies: to("Delete"),
			Harm: "from now on deleting the StatefulSet, even to recreate it, deletes all data",
		},
		{
			ID: "sts-history-zero", Paths: []string{"spec.revisionHistoryLimit"}, When: "the limit becomes 0",
			Outcome: Irreversible, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline, Since: "1.33", applies: toZero,
			Harm:  "deletes every old ControllerRevision: no rollback is possible, and raising the limit does not bring them back",
			Steps: []string{"keep at least one old revision: revisionHistoryLimit: 1"},
		},
	}
}

// statefulSetUpdates are rows about the update of pods.
func statefulSetUpdates() []Row {
	partition := func(m *FieldChange) int64 {
		return integer(lookup(m.New, "spec", "updateStrategy", "rollingUpdate", "partition"), 0)
	}
	return []Row{
		{
			ID: "sts-on-delete-rolling-update", Paths: []string{"spec.updateStrategy.type"},
			When:    "the strategy becomes OnDelete in a manifest that does not remove rollingUpdate",
			Outcome: InSteps, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool {
				before, _ := lookup(m.Old, "spec", "updateStrategy").(map[string]any)
				after, _ := lookup(m.New, "spec", "updateStrategy").(map[string]any)
				rolling, written := after["rollingUpdate"]
				// The server sets the default of rollingUpdate only if the type is absent.
				filledIn := before["type"] == nil && before["rollingUpdate"] == nil
				return text(m.To) == "OnDelete" && (rolling != nil || filledIn && !written && !complete(m.New))
			},
			Harm: "kubectl apply keeps the rollingUpdate that the API server set by default, which OnDelete does not allow",
			Steps: []string{
				"write rollingUpdate: null along with type: OnDelete in NEW.yaml",
				replaceAtOnce,
			},
		},
		{
			ID: "sts-on-delete", Paths: []string{"spec.updateStrategy.type"}, When: "the strategy becomes OnDelete",
			Outcome: InPlace, applies: to("OnDelete"),
			Harm: "from now on a change of the template reaches a pod only once somebody deletes that pod",
		},
		{
			ID: "sts-rolling", Paths: []string{"spec.updateStrategy.type"}, When: "the strategy becomes RollingUpdate",
			Outcome: Rollout, applies: to("RollingUpdate"),
			Harm: "immediately replaces every pod that is older than the template",
		},
		{
			ID: "sts-partition-lower", Paths: []string{"spec.updateStrategy.rollingUpdate.partition"}, When: "the partition is lowered",
			Outcome: Rollout, applies: lowered,
			Harm: "rolls the template out to the pods from the new partition on",
		},
		{
			ID: "sts-partition-raise", Paths: []string{"spec.updateStrategy.rollingUpdate.partition"}, When: "the partition is raised",
			Outcome: InPlace, applies: raised,
			Harm: "pods below the partition keep the old revision, even when they are recreated",
		},
		{
			ID: "sts-max-unavailable", Paths: []string{"spec.updateStrategy.rollingUpdate.maxUnavailable"}, When: "maxUnavailable changes",
			Outcome: InPlace,
			Harm:    "up to Kubernetes 1.36 the API server drops it silently unless the feature gate MaxUnavailableStatefulSet is on",
		},
		{
			ID: "sts-min-ready-seconds", Paths: []string{"spec.minReadySeconds"}, When: "minReadySeconds is raised",
			Outcome: InPlace, applies: raised,
			Harm: "pods younger than that no longer count as available, and rollouts take longer",
		},
		{
			ID: "sts-template-on-delete", Paths: []string{"spec.template"}, When: "the strategy is OnDelete",
			Outcome: InSteps, applies: func(m *FieldChange) bool { return text(lookup(m.New, "spec", "updateStrategy", "type")) == "OnDelete" },
			Harm:  "has no effect on running pods",
			Steps: []string{replaceAtOnce, "kubectl -n {namespace} delete pod POD # one at a time, the highest ordinal first"},
		},
		{
			ID: "sts-template-partition", Paths: []string{"spec.template"}, When: "the partition is above 0",
			Outcome: InSteps, applies: func(m *FieldChange) bool { return partition(m) > 0 },
			Harm: "reaches only the pods from the partition on",
			Steps: []string{
				replaceAtOnce,
				"kubectl -n {namespace} patch statefulset {name} -p '{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":0}}}}' # once the first pods are healthy",
			},
		},
	}
}
