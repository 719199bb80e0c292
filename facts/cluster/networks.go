package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/verdict"
)

// Networks looks up the Networks that objects declare. The cache is sufficient
// to admit a request; before a denial one list decides.
type Networks struct {
	// Reader must not be a cache.
	Reader client.Reader
	// Related knows which Deployments exist.
	Related *RelatedCache

	// cache reads the Networks of an informer; nil without an informer.
	cache atomic.Pointer[cachedNetworks]
}

type cachedNetworks struct {
	reader client.Reader
	synced func() bool
}

// trimNetwork keeps the fields that decide whether pods can be attached to a
// Network.
func trimNetwork(network *samplecrdv1.Network) *samplecrdv1.Network {
	kept := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{
		Namespace: network.Namespace, Name: network.Name, UID: network.UID, ResourceVersion: network.ResourceVersion,
		DeletionTimestamp: network.DeletionTimestamp, OwnerReferences: network.OwnerReferences,
	}}
	kept.Status.Backend = network.Status.Backend
	if ready := meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.Ready); ready != nil {
		kept.Status.Conditions = []metav1.Condition{*ready}
	}
	return kept
}

// Follow caches the cluster's Networks from now on. In a cluster without the
// kind it retries, and until then every lookup lists.
func (n *Networks) Follow(ctx context.Context, c cache.Cache, log logr.Logger) {
	logged := false
	_ = wait.PollUntilContextCancel(ctx, time.Minute, true, func(ctx context.Context) (bool, error) {
		informer, err := c.GetInformer(ctx, &samplecrdv1.Network{}, cache.BlockUntilSynced(false))
		if err == nil {
			n.cache.Store(&cachedNetworks{reader: c, synced: informer.HasSynced})
			return true, nil
		}
		if !logged && !meta.IsNoMatchError(err) {
			logged = true
			log.Error(err, "cannot watch Networks, and lists them for each request")
		}
		return false, nil
	})
}

// Cached returns the known Networks that an object declares, if the cache knows
// that all of them are attachable.
func (n *Networks) Cached(ctx context.Context, namespace string, names []string, object []byte) (map[string]network.State, bool) {
	cached := n.cache.Load()
	if cached == nil || !cached.synced() {
		return nil, false
	}
	own := ownDeployment(object)
	found := make(map[string]network.State, len(names))
	for _, name := range names {
		network := &samplecrdv1.Network{}
		if err := cached.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, network); err != nil || network.DeletionTimestamp != nil {
			return nil, false
		}
		owner := controller(network, "Deployment")
		if owner != nil && !n.Related.has(listKey{"Deployment", namespace}, owner.Name, owner.UID) {
			return nil, false
		}
		if name == own && !ownedBy(network, name) {
			return nil, false
		}
		found[name] = attachable(network)
		if found[name].Unready != "" {
			return nil, false
		}
	}
	return found, true
}

// A lookup finds the Networks of a namespace that an object declares.
type lookup func(ctx context.Context, namespace string, names []string, object []byte) (map[string]network.State, error)

// find looks in the cache, and lists if that is not sufficient.
func (n *Networks) find(ctx context.Context, namespace string, names []string, object []byte) (map[string]network.State, error) {
	if cached, ok := n.Cached(ctx, namespace, names, object); ok {
		return cached, nil
	}
	return n.Fresh(ctx, namespace, names, object)
}

// Gather adds to the facts about a request the Networks that its object declares,
// from the API server.
func (n *Networks) Gather(ctx context.Context, r facts.Request, known *verdict.Facts) error {
	return n.gather(ctx, r, known, n.Fresh)
}

func (n *Networks) gather(ctx context.Context, r facts.Request, known *verdict.Facts, look lookup) error {
	names, problem := network.Declared(r.Object.Kind, r.Object.JSON)
	if problem != nil {
		return nil // the verdict reports it
	}
	if r.Object.Kind == "Deployment" {
		var old []byte
		if r.Old != nil {
			old = r.Old.JSON
		}
		own, problem := network.DeclareOwn(r.Object.JSON, old, known.NamespaceLabels)
		if problem != nil {
			return nil // the verdict reports it
		}
		if own.Begins {
			foreign, err := n.Foreign(ctx, r.Object.Namespace, own.Network, r.Object.JSON)
			if err != nil {
				return err
			}
			known.OwnNetworkTaken = foreign != nil
		}
		if own.Asked { // its controller creates it
			names = slices.DeleteFunc(names, func(name string) bool { return name == own.Network })
		}
	}
	var err error
	known.Networks, err = look(ctx, r.Object.Namespace, names, r.Object.JSON)
	return err
}

// Fresh looks up the Networks that an object declares in one list. It also
// returns a Network that is still being created.
func (n *Networks) Fresh(ctx context.Context, namespace string, names []string, object []byte) (map[string]network.State, error) {
	if len(names) == 0 {
		return map[string]network.State{}, nil
	}
	existing, err := n.list(ctx, namespace)
	if err != nil {
		return nil, err
	}
	deployments := deploymentList{reader: n.Reader, namespace: namespace}
	own := ownDeployment(object)
	found := map[string]network.State{}
	for _, name := range names {
		one := existing[name]
		if one != nil {
			gone, err := going(ctx, one, &deployments)
			if err != nil {
				return nil, err
			}
			if gone != "" {
				found[name] = network.State{Reason: reason.NetworkMissing, Detail: gone}
				continue
			}
			found[name] = attachable(one)
		}
		if name != own || ownedBy(one, name) {
			continue
		}
		coming, asked, err := n.coming(ctx, namespace, name, object)
		if err != nil {
			return nil, err
		}
		switch {
		case asked && one != nil:
			found[name] = network.State{Reason: reason.NetworkForeign, Detail: "was not created for the Deployment that asks for its own"}
		case asked:
			found[name] = coming
		}
	}
	return found, nil
}

// attachable returns what an attachment needs to know of a Network that is not
// being deleted.
func attachable(n *samplecrdv1.Network) network.State {
	found := network.State{Backend: n.Status.Backend}
	ready := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready)
	switch {
	case ready == nil:
		found.Unready = "it does not exist yet"
	case ready.Status != metav1.ConditionTrue:
		found.Unready = ready.Reason + ": " + ready.Message
	}
	return found
}

// list reads the Networks of a namespace by name. A cluster without the kind
// has none.
func (n *Networks) list(ctx context.Context, namespace string) (map[string]*samplecrdv1.Network, error) {
	found := map[string]*samplecrdv1.Network{}
	for next := ""; ; {
		list := &samplecrdv1.NetworkList{}
		err := n.Reader.List(ctx, list, client.InNamespace(namespace), client.Limit(listLimit), client.Continue(next))
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: listing the Networks of %s: %w", errUnavailable, namespace, err)
		}
		for i := range list.Items {
			found[list.Items[i].Name] = &list.Items[i]
		}
		if next = list.Continue; next == "" {
			return found, nil
		}
	}
}
