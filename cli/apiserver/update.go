package apiserver

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/usher-dev/usher/finding"
)

// update takes a change through the API server's steps before storage. If old
// is a manifest, it is first created, so that it has the defaults, and then
// changed to new like kubectl apply; if old is an object from a cluster, it is
// used as is, and new is the result.
func (c *call) update(old, new []byte) ([]finding.Finding, error) {
	object, before, found, err := c.pair(old, new)
	if object == nil || err != nil {
		return found, err
	}
	var more []finding.Finding
	if before == nil {
		more, err = c.create(object)
	} else {
		more, err = c.replace(object, before)
	}
	return append(found, more...), err
}

// pair returns the objects of an update: the new one, nil if it does not decode, and
// the one before, nil if the server would not have stored it, so that it is created.
func (c *call) pair(old, new []byte) (object, before runtime.Object, found []finding.Finding, err error) {
	object, found = c.decode(new)
	if object == nil {
		return nil, nil, found, nil
	}
	live, stored, err := c.stored(old)
	if live == nil || err != nil {
		return object, nil, found, err
	}
	if !stored {
		object, err = c.applied(old, new, live)
		if err != nil {
			return nil, nil, nil, err
		}
	}
	before = c.existing(live)
	if object == nil || before == nil {
		return nil, nil, nil, fmt.Errorf("the existing %s does not decode", c.kind.Kind)
	}
	return object, before, found, nil
}

// stored returns an existing object as the server has it; nil if the server
// would not have stored it. was is true if it comes from a cluster.
func (c *call) stored(old []byte) (live []byte, was bool, err error) {
	var header struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
		Status json.RawMessage `json:"status"`
	}
	_ = json.Unmarshal(old, &header) // decode reports what is not an object below
	if header.Metadata.UID != "" {
		return old, true, nil
	}
	object, _ := c.decode(old)
	if object == nil {
		return nil, false, nil
	}
	if refusals, err := c.create(object); err != nil || len(refusals) > 0 {
		return nil, false, err
	}
	live, err = c.encode(object)
	if err != nil {
		return nil, false, fmt.Errorf("writing the existing %s: %w", c.kind.Kind, err)
	}
	status, err := c.status(live, header.Status)
	if err != nil {
		return nil, false, fmt.Errorf("completing the existing %s: %w", c.kind.Kind, err)
	}
	live, err = withStatus(live, status)
	return live, false, err
}

// status returns what controllers would have written into an older object.
// written is the status in its manifest, which is used if theirs depends on the
// cluster.
func (c *call) status(live []byte, written json.RawMessage) (json.RawMessage, error) {
	switch c.kind.GroupKind() {
	case definitionKind.GroupKind():
		return established(live)
	case claimKind:
		return bound(live, written)
	}
	return written, nil
}

// established is the status of a CustomResourceDefinition whose kind is served.
func established(live []byte) (json.RawMessage, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(live, &crd); err != nil {
		return nil, err
	}
	crd.Status.AcceptedNames = crd.Spec.Names
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	return json.Marshal(crd.Status)
}

// withStatus sets the status of an object, and its first resource version.
func withStatus(object []byte, status json.RawMessage) ([]byte, error) {
	var fields, metadata map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(fields["metadata"], &metadata); err != nil {
		return nil, err
	}
	metadata["resourceVersion"] = json.RawMessage(`"1"`)
	var err error
	if fields["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	if len(status) > 0 {
		fields["status"] = status
	}
	return json.Marshal(fields)
}

// applied returns the result of kubectl apply on a live object.
func (c *call) applied(old, new, live []byte) (runtime.Object, error) {
	merged, err := c.apply(c.kind, old, new, live)
	if err != nil {
		return nil, fmt.Errorf("applying the %s: %w", c.kind.Kind, err)
	}
	return c.existing(merged), nil
}

// existing decodes an object that usher wrote, which may have fields that the
// server's version does not have; nil if it does not decode.
func (c *call) existing(raw []byte) runtime.Object {
	_, _, rest := c.fields.take(raw)
	object, _ := c.decode(rest)
	return object
}

// replace updates an object.
func (c *call) replace(object, old runtime.Object) ([]finding.Finding, error) {
	m, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of the %s: %w", c.kind.Kind, err)
	}
	was, err := meta.Accessor(old)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of the existing %s: %w", c.kind.Kind, err)
	}
	m.SetManagedFields(nil)
	was.SetManagedFields(nil)
	m.SetResourceVersion(was.GetResourceVersion())
	ctx := c.context("update", m.GetName())
	if c.begin != nil {
		if err := c.begin(ctx, object, old); err != nil {
			return refusals(err, nil), nil
		}
	}
	r := &recorder{RESTCreateUpdateStrategy: c.strategy, changes: c.server.changes(c.kind.Kind), prepares: c.prepares}
	if err := rest.BeforeUpdate(r, ctx, object, old); err != nil {
		return refusals(err, nil), nil
	}
	return nil, nil
}

// Applied returns the result of kubectl apply on a live object: before is the
// manifest that was applied last, after the new one.
func (v *Validator) Applied(apiVersion, kind string, before, after, live []byte) ([]byte, error) {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	r, ok := v.registry(gvk)
	if !ok {
		r.codec = untyped{}
	}
	merged, err := r.apply(gvk, before, after, live)
	if err != nil {
		return nil, fmt.Errorf("merging the manifest into the live object: %w", err)
	}
	return merged, nil
}
