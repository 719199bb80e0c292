package cluster

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A failing reader fails to list.
type failing struct {
	client.Reader
	err error
}

func (f failing) List(context.Context, client.ObjectList, ...client.ListOption) error { return f.err }

func TestList_WhatIsUnseen(t *testing.T) {
	lacking := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "networking.k8s.io", Kind: "ServiceCIDR"}}
	for name, tc := range map[string]struct {
		kind   string
		err    error
		unseen string
	}{
		"a kind that the cluster lacks":    {"ServiceCIDR", lacking, ""},
		"a kind that usher may not read":   {"ServiceCIDR", errors.New("forbidden"), "usher could not read the objects of kind ServiceCIDR"},
		"a kind that usher does not query": {"Lease", nil, "usher does not read objects of kind Lease in the cluster"},
	} {
		if got := NewLister(failing{err: tc.err}, ListTimeout).read(t.Context(), tc.kind, ""); got.unseen != tc.unseen || len(got.found) > 0 {
			t.Errorf("%s: %d objects are found, unseen is %q", name, len(got.found), got.unseen)
		}
	}
}
