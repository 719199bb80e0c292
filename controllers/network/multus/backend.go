// Package multus implements Networks without a cloud: each becomes a
// NetworkAttachmentDefinition of its name, by which Multus attaches pods to a
// bridge on their node, with addresses from the Network's range.
//
// host-local allocates addresses on each node by itself, so pods of one network
// reach each other only on one node. Use another backend to connect nodes.
package multus

import (
	"context"
	"fmt"
	"strings"

	netattdefv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// Name is the backend's name in the flag and in status.backend.
const Name = "multus"

// Options are the common settings of all networks.
type Options struct {
	// MTU is the MTU of the interfaces; zero leaves it to the kernel.
	MTU int
}

// A Backend creates NetworkAttachmentDefinitions. It implements
// backend.Backend.
type Backend struct {
	// client reads from definitions.
	client client.Client
	// live reads from the API server, whoever created the object.
	live client.Reader
	// definitions caches those with the mark.
	definitions cache.Cache
	pods        pods
	options     Options
}

// New returns the backend for that manager's cluster. It adds caches of the
// backend's definitions, and of attached pods, to the manager.
func New(m manager.Manager, o Options) (*Backend, error) {
	b := &Backend{live: m.GetAPIReader(), options: o}
	var err error
	if b.pods, err = newPods(m); err != nil {
		return nil, err
	}
	// The manager's own cache would need the kind now; a cluster may get Multus
	// later.
	b.definitions, err = cache.New(m.GetConfig(), cache.Options{
		HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(),
		DefaultLabelSelector: mark().AsSelector(), DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("creating a cache of NetworkAttachmentDefinitions: %w", err)
	}
	b.client, err = client.New(m.GetConfig(), client.Options{
		HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(), Cache: &client.CacheOptions{Reader: b.definitions},
	})
	if err != nil {
		return nil, fmt.Errorf("creating a client of NetworkAttachmentDefinitions: %w", err)
	}
	return b, m.Add(b.definitions)
}

// Name returns Name.
func (b *Backend) Name() string { return Name }

// Ensure creates the definition, or updates it.
func (b *Backend) Ensure(ctx context.Context, want backend.Wanted) (*backend.Made, error) {
	should, err := render(want, b.options)
	if err != nil {
		return nil, err
	}
	is := &netattdefv1.NetworkAttachmentDefinition{}
	if err := b.client.Get(ctx, client.ObjectKeyFromObject(should), is); err == nil {
		return b.change(ctx, is, should, want)
	} else if !apierrors.IsNotFound(err) {
		return nil, explain("reading", err)
	}
	if err := b.client.Create(ctx, should); err == nil {
		return b.used(ctx, want.Owner, made(should, backend.Created))
	} else if !apierrors.IsAlreadyExists(err) {
		return nil, explain("creating", err)
	}
	// The cache lacks definitions of other owners, and those that were just
	// created.
	if err := b.live.Get(ctx, client.ObjectKeyFromObject(should), is); err != nil {
		return nil, explain("reading", err)
	}
	return b.change(ctx, is, should, want)
}

// change updates an existing definition.
func (b *Backend) change(ctx context.Context, is, should *netattdefv1.NetworkAttachmentDefinition, want backend.Wanted) (*backend.Made, error) {
	change := backend.Updated
	switch was := subnetOf(is).Prefix; {
	case !ours(is):
		return nil, backend.Errorf(backend.Foreign,
			"usher did not create the NetworkAttachmentDefinition %s and does not change it: rename it, or the Network", want.Owner)
	case same(is, should):
		return b.used(ctx, want.Owner, made(is, backend.Unchanged))
	case was.IsValid() && was != want.Prefix:
		users, err := b.pods.attachedTo(ctx, want.Owner)
		if err != nil {
			return nil, err
		}
		if len(users) > 0 {
			return nil, backend.Used("replacing "+was.String()+" by "+want.Prefix.String(), users)
		}
		change = backend.Replaced
	}
	put(is, should)
	if err := b.client.Update(ctx, is); err != nil {
		return nil, explain("changing", err)
	}
	return b.used(ctx, want.Owner, made(is, change))
}

// used adds the users of the network: the pods that name the definition and
// have not ended. The cache has them.
func (b *Backend) used(ctx context.Context, owner backend.Owner, m *backend.Made) (*backend.Made, error) {
	var err error
	m.Users, err = b.pods.attachedTo(ctx, owner)
	return m, err
}

// Delete removes the definition, if it belongs to the backend.
func (b *Backend) Delete(ctx context.Context, owner backend.Owner) error {
	is := &netattdefv1.NetworkAttachmentDefinition{}
	// With a stale cache it would leave a definition that was just created.
	err := b.live.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}, is)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return explain("reading", err)
	case !ours(is):
		return nil
	}
	users, err := b.pods.attachedTo(ctx, owner)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return backend.Used("deleting "+owner.String(), users)
	}
	err = b.client.Delete(ctx, is, client.Preconditions{UID: &is.UID, ResourceVersion: ptr.To(is.ResourceVersion)})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return explain("deleting", err)
}

// List returns the definitions with the mark.
func (b *Backend) List(ctx context.Context) ([]backend.Made, error) {
	var marked netattdefv1.NetworkAttachmentDefinitionList
	if err := b.client.List(ctx, &marked, client.MatchingLabels(mark())); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, explain("listing", err)
	}
	var all []backend.Made
	for i := range marked.Items {
		if d := &marked.Items[i]; ours(d) {
			all = append(all, *made(d, backend.Unchanged))
		}
	}
	return all, nil
}

// explain returns the reason for the API server's response; nil for nil.
func explain(doing string, err error) error {
	reason := backend.Unavailable
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err):
		return backend.Errorf(backend.Unavailable, "the cluster does not serve NetworkAttachmentDefinitions: install Multus, or choose another backend (%w)", err)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err): // edited or deleted since it was read
		reason = backend.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		reason = backend.Invalid
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		reason = backend.QuotaExceeded
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		reason = backend.Denied
	}
	return backend.Errorf(reason, "%s the NetworkAttachmentDefinition: %w", doing, err)
}
