package apiserver

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/usher-dev/usher/verdict"
)

// The kinds whose updates the server validates by what it or a controller wrote
// into the existing object, apart from custom resources and their definitions.
var (
	claimKind   = core.Kind("PersistentVolumeClaim") // status.phase, status.capacity, the attributes class
	jobKind     = batch.Kind("Job")                  // status.startTime, status.active, status.conditions
	serviceKind = core.Kind("Service")               // spec.clusterIPs, the node ports
)

// Complete implements verdict.Validator. An object from a cluster is complete. A
// manifest is complete if the server validates an update only by fields that it
// contains, or that the server sets by default.
func (v *Validator) Complete(old verdict.Object) bool {
	var read struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
		Spec struct {
			Type      string `json:"type"`
			ClusterIP string `json:"clusterIP"`
		} `json:"spec"`
		Status map[string]any `json:"status"`
	}
	if json.Unmarshal(old.JSON, &read) != nil {
		return false
	}
	kind := schema.FromAPIVersionAndKind(old.APIVersion, old.Kind).GroupKind()
	_, custom := v.definition(kind)
	switch {
	case read.Metadata.UID != "":
		return true
	case kind == claimKind:
		return read.Status["phase"] != nil && read.Status["capacity"] != nil
	case kind == serviceKind:
		return read.Spec.ClusterIP != "" || read.Spec.Type == string(corev1.ServiceTypeExternalName)
	case kind == jobKind, custom: // a rule of a custom resource may read all of its status
		return len(read.Status) > 0
	}
	return true
}

// bound is the status of a claim that has what its manifest asks for, where the
// manifest does not say otherwise.
func bound(live []byte, written json.RawMessage) (json.RawMessage, error) {
	var claim corev1.PersistentVolumeClaim
	if err := json.Unmarshal(live, &claim); err != nil {
		return nil, err
	}
	var status corev1.PersistentVolumeClaimStatus
	if len(written) > 0 {
		if err := json.Unmarshal(written, &status); err != nil {
			return nil, err
		}
	}
	if status.Phase == "" {
		status.Phase = corev1.ClaimBound
		if status.CurrentVolumeAttributesClassName == nil {
			status.CurrentVolumeAttributesClassName = claim.Spec.VolumeAttributesClassName
		}
	}
	if status.Phase == corev1.ClaimBound && status.Capacity == nil {
		status.Capacity = claim.Spec.Resources.Requests
	}
	return json.Marshal(status)
}
