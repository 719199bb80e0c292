package transition

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
)

func persistentVolumeClaim() Kind {
	// A manifest does not contain the claim's phase; a claim in use is bound.
	bound := func(m *FieldChange) bool { return textOr(m.status("phase"), "Bound") == "Bound" }
	const storage = "spec.resources.requests[storage]"
	size := func(m *FieldChange) (diff int, ok bool) {
		from, okFrom := parseQuantity(m.From)
		to, okTo := parseQuantity(m.To)
		return to.Cmp(from), okFrom && okTo
	}
	grows := func(m *FieldChange) bool { d, ok := size(m); return ok && d > 0 }
	return Kind{
		APIVersion: "v1", Kind: "PersistentVolumeClaim",
		Type:    reflect.TypeFor[corev1.PersistentVolumeClaim](),
		Assumes: "the claim is bound",
		Rows: append([]Row{
			{
				ID: "pvc-grow-without-class", Paths: []string{storage}, When: "the size grows, and the claim has no class, or changes it, too",
				Outcome: Refused, RefusedBy: Server, Level: finding.Invariant,
				applies: func(m *FieldChange) bool { return grows(m) && !sameClass(m) && bound(m) },
				Plugin:  "PersistentVolumeClaimResize",
				Harm:    "a claim can grow only if its class allows expansion",
				Steps: []string{
					"give a claim without a class one that allows expansion, then let it grow with a second apply",
					"if the class is \"\" or another one: create a claim of the new size under another name, and copy the data",
				},
			},
			{
				ID: "pvc-grow", Paths: []string{storage}, When: "the size of a bound claim grows",
				Outcome: InPlace, applies: func(m *FieldChange) bool { return grows(m) && bound(m) },
				Harm: "cannot be undone; the API server refuses it unless the StorageClass sets allowVolumeExpansion, and some volumes grow only when the pod restarts",
			},
			{
				ID: "pvc-grow-unbound", Paths: []string{storage}, When: "the size of a claim that is not bound grows",
				Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant, applies: grows,
				Harm:  "a claim is fixed until it is bound",
				Steps: []string{"kubectl -n {namespace} delete pvc {name} # it holds no data yet", "kubectl -n {namespace} create -f NEW.yaml"},
			},
			{
				ID: "pvc-expansion-undo", Paths: []string{storage}, When: "an expansion that has not happened is reverted to a size above the volume's capacity",
				Outcome: InPlace, Since: "1.32",
				applies: func(m *FieldChange) bool {
					capacity, known := parseQuantity(m.status("capacity", "storage"))
					to, ok := parseQuantity(m.To)
					return known && ok && to.Cmp(capacity) > 0 && bound(m)
				},
				Harm: "recovers from an expansion that the storage cannot provide",
			},
			{
				ID: "pvc-shrink", Paths: []string{storage}, When: "the size shrinks",
				Outcome: Refused, RefusedBy: Server, Level: finding.Invariant,
				Harm: "volumes cannot shrink: the data beyond the new size would be lost",
				Steps: []string{
					"create a claim of the new size under another name",
					"copy the data in a Job that mounts both",
					"point the workload at the new claim, then delete the old one",
				},
			},
			{
				ID: "pvc-storage-class-late", Paths: []string{"spec.storageClassName"}, When: "a claim without a class is given one",
				Outcome: InPlace,
				applies: func(m *FieldChange) bool {
					annotated := lookup(m.Old, "metadata", "annotations", betaStorageClass)
					return m.From == nil && m.To != nil && (annotated == nil || same(annotated, m.To))
				},
				Harm: "is fixed from then on",
			},
			{
				ID: "pvc-volume-name-late", Paths: []string{"spec.volumeName"}, When: "a claim without a volume is given one",
				Outcome: InPlace, applies: func(m *FieldChange) bool { return m.From == nil },
				Harm: "is fixed from then on",
			},
		}, append(claimAttributes(bound), claimFixed()...)...),
		Defaults: []Default{
			{Path: "spec.volumeAttributesClassName", Outcome: InPlace, Harm: "the API server drops the class before Kubernetes 1.34"},
			{Path: "spec", Outcome: Recreate, RefusedBy: Server, Harm: "a claim is fixed at creation, except for its size and attributes class", Steps: sameVolumeAgain},
			elseInPlace,
		},
	}
}

// sameClass reports whether the claim's class is unchanged. A manifest without
// a class may have got the cluster's default.
func sameClass(m *FieldChange) bool {
	old, new := classOf(m.Old), classOf(m.New)
	if old == nil && new == nil {
		return !complete(m.Old)
	}
	return text(old) != "" && text(old) == text(new)
}

// classOf returns a claim's class, or nil if it does not set one.
func classOf(claim map[string]any) any {
	if class := lookup(claim, "metadata", "annotations", betaStorageClass); class != nil {
		return class
	}
	return lookup(claim, "spec", "storageClassName")
}

const betaStorageClass = "volume.beta.kubernetes.io/storage-class"

// sameVolumeAgain recreates a claim on the volume with the data.
var sameVolumeAgain = []string{
	"kubectl patch pv VOLUME -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}' # otherwise the data is deleted with the claim",
	"stop the pods that use the claim",
	"kubectl -n {namespace} delete pvc {name}",
	"kubectl patch pv VOLUME --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/claimRef\"}]'",
	"kubectl -n {namespace} create -f NEW.yaml # with volumeName: VOLUME, if the volume meets its requests",
}

// claimAttributes are about the VolumeAttributesClass.
func claimAttributes(bound func(*FieldChange) bool) []Row {
	const path = "spec.volumeAttributesClassName"
	// A manifest does not contain the applied class; a class that it names is applied.
	applied := func(m *FieldChange) bool {
		return m.status("currentVolumeAttributesClassName") != nil || m.guessed && text(m.From) != ""
	}
	return []Row{
		{
			ID: "pvc-attributes-class-drop", Paths: []string{path}, When: "the attributes class of a claim that already has one applied is removed",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant, Since: "1.34",
			applies: func(m *FieldChange) bool { return text(m.To) == "" && applied(m) },
			Harm:    "the settings of the class would stay on the volume",
			Steps:   []string{"write the class with the new parameters instead"},
		},
		{
			ID: "pvc-attributes-class", Paths: []string{path}, When: "the attributes class of a bound claim changes",
			Outcome: InPlace, Since: "1.34", applies: bound,
			Harm: "modifies the volume under running pods, which its driver has to support",
		},
	}
}

// claimFixed are the fields that are fixed at creation.
func claimFixed() []Row {
	fixed := func(id, when, harm string, paths ...string) Row {
		return Row{
			ID: "pvc-" + id, Paths: paths, When: when,
			Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant, Harm: harm, Steps: sameVolumeAgain,
		}
	}
	source := fixed("data-source", "the data source changes", "a volume is populated only once", "spec.dataSource", "spec.dataSourceRef")
	source.Steps = []string{"create a claim under another name from the new source", "point the workload at it, then delete the old one"}
	class := fixed("attributes-class-unbound", "the attributes class of a claim that is not bound changes", "a claim is fixed until it is bound", "spec.volumeAttributesClassName")
	class.Since = "1.34"
	return []Row{
		class,
		fixed("storage-class", "the class changes", "the volume stays where it was provisioned", "spec.storageClassName", "metadata.annotations["+betaStorageClass+"]"),
		fixed("volume-name", "the volume changes", "the data stays in the old volume", "spec.volumeName"),
		fixed("access-modes", "an access mode changes", "the volume was provisioned and bound for the old access modes", "spec.accessModes"),
		fixed("volume-mode", "the volume mode changes", "the data of a filesystem cannot be used as a block device, or vice versa", "spec.volumeMode"),
		fixed("selector", "the selector of volumes changes", "the claim has chosen its volume with the old selector, or will", "spec.selector"),
		source,
	}
}
