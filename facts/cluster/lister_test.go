package cluster

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A failing reader fails to list, and records the size of the requested page.
type failing struct {
	client.Reader
	err   error
	limit int64
}

func (f *failing) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	f.limit = o.Limit
	return f.err
}

func TestList_WhatIsUnseen(t *testing.T) {
	lacking := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "networking.k8s.io", Kind: "ServiceCIDR"}}
	for name, tc := range map[string]struct {
		kind   string
		err    error
		unseen string
		limit  int64
	}{
		"a kind that the cluster lacks":    {"ServiceCIDR", lacking, "", listLimit},
		"a kind that usher may not read":   {"ServiceCIDR", errors.New("forbidden"), "usher could not read the objects of kind ServiceCIDR", listLimit},
		"nodes, which are large":           {"Node", errors.New("timeout"), "usher could not read the objects of kind Node", nodeLimit},
		"a kind that usher does not query": {"Lease", nil, "usher does not read objects of kind Lease in the cluster", 0},
	} {
		reader := &failing{err: tc.err}
		if got := list(t.Context(), reader, tc.kind, ""); got.unseen != tc.unseen || len(got.found) > 0 || reader.limit != tc.limit {
			t.Errorf("%s: %d objects of a page of %d are found, unseen is %q", name, len(got.found), reader.limit, got.unseen)
		}
	}
}
