package transition

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// lastApplied is the annotation in which kubectl stores the applied manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Applied predicts the result of kubectl apply on a live object: it removes
// fields of the last applied manifest that the new one lacks, and keeps all
// other fields that the new one does not set. Without a recorded manifest it
// removes nothing.
func (t *Table) Applied(live map[string]any, manifest []byte) (map[string]any, error) {
	before := text(lookup(live, "metadata", "annotations", lastApplied))
	if before == "" {
		before = "{}"
	}
	return t.AppliedOver(live, []byte(before), manifest)
}

// AppliedOver is Applied with a known last applied manifest.
func (t *Table) AppliedOver(live map[string]any, before, manifest []byte) (map[string]any, error) {
	kind := t.Kind(text(live["apiVersion"]), text(live["kind"]))
	if kind == nil || kind.Type == nil {
		return nil, fmt.Errorf("%s %s: %w", text(live["apiVersion"]), text(live["kind"]), ErrUnknownKind)
	}
	now, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("encoding the live object: %w", err)
	}
	typed := reflect.New(kind.Type).Interface()
	lists, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(before, manifest, now, lists, true)
	if err == nil {
		now, err = strategicpatch.StrategicMergePatch(now, patch, typed)
	}
	if err != nil {
		return nil, fmt.Errorf("merging the manifest into the live object: %w", err)
	}
	will, err := decode(now)
	if err != nil {
		return nil, err
	}
	metadata, ok := will["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("merging the manifest into the live object leaves no metadata")
	}
	// A manifest need not have a namespace.
	if namespace := lookup(live, "metadata", "namespace"); namespace != nil {
		metadata["namespace"] = namespace
	}
	return will, nil
}
