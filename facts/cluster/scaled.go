package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/verdict"
)

// Scale converts a request about a Scale to a request about the scaled object,
// before and after. A Scale that does not decode becomes a finding that denies.
func (f *Facts) Scale(ctx context.Context, r *facts.Request, resource string) (*finding.Finding, error) {
	of := kinds.Scaled(resource)
	if of == nil {
		return nil, fmt.Errorf("the request is a Scale of %s, for which no webhook is registered", resource)
	}
	if r.Old == nil {
		r.Old = &verdict.Object{}
	}
	var old, is struct {
		Spec struct {
			Replicas int64 `json:"replicas"`
		} `json:"spec"`
	}
	if err := errors.Join(json.Unmarshal(r.Object.JSON, &is), json.Unmarshal(r.Old.JSON, &old)); err != nil {
		return new(finding.Denial(reason.Undecodable, "spec.replicas", err.Error())), nil
	}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(of.APIVersion)
	object.SetKind(of.Name)
	err := f.Reader.Get(ctx, client.ObjectKey{Namespace: r.Object.Namespace, Name: r.Object.Name}, object)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: reading the scaled %s: %w", errUnavailable, of.Name, err)
	}
	scaledTo := func(n int64) (verdict.Object, error) {
		if err := unstructured.SetNestedField(object.Object, n, of.Replicas()...); err != nil {
			return verdict.Object{}, err
		}
		text, err := object.MarshalJSON()
		return verdict.Object{APIVersion: of.APIVersion, Kind: of.Name, Namespace: r.Object.Namespace, Name: r.Object.Name, JSON: text}, err
	}
	if *r.Old, err = scaledTo(old.Spec.Replicas); err != nil {
		return nil, err
	}
	r.Scaled = true
	r.Object, err = scaledTo(is.Spec.Replicas)
	return nil, err
}
