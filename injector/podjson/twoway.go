package podjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/usher-dev/usher/kinds"
)

// ErrInexpressible means that a strategic merge patch cannot express the
// change; the JSON Patch can.
var ErrInexpressible = errors.New("a two-way merge patch cannot express the change")

// TwoWayMergePatch returns the strategic merge patch from the original object
// to the patched one, and verifies it: applied to the original, it must give
// exactly the patched object. Otherwise the error is ErrInexpressible.
//
// The patch is a diff, not a merge: lists are keyed (containers by name), so a
// repeated key can change its meaning.
func TwoWayMergePatch(kind string, original, modified []byte) ([]byte, error) {
	if kind == "" {
		kind = "Pod"
	}
	k := kinds.Named(kind)
	if !k.Is(kinds.Pods) {
		return nil, fmt.Errorf("%w: %s has no strategic merge patch", ErrInexpressible, kind)
	}
	schema := k.New()
	patch, err := strategicpatch.CreateTwoWayMergePatch(original, modified, schema)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInexpressible, err)
	}
	applied, err := strategicpatch.StrategicMergePatch(original, patch, schema)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInexpressible, err)
	}
	same, err := sameJSON(applied, modified)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, fmt.Errorf("%w: applied, it gives another object (a list has a merge key twice)", ErrInexpressible)
	}
	return patch, nil
}

// sameJSON compares objects by value. It compares numbers as floating point:
// applying a strategic merge patch decodes and encodes all of them that way,
// whether or not the patch changes them (3.0 becomes 3).
func sameJSON(a, b []byte) (bool, error) {
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		return false, fmt.Errorf("reading the patched object: %w", err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		return false, fmt.Errorf("reading the object that leaves: %w", err)
	}
	return reflect.DeepEqual(x, y), nil
}
