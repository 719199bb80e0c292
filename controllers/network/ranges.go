package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
)

// rangesInterval is how often to read the cluster's own ranges.
const rangesInterval = time.Minute

// ranges are the addresses that the cluster itself uses: of Services, pods and
// nodes. It keeps only these, and not whole Nodes.
type ranges struct {
	// live reads from the API server.
	live client.Reader
	// namespace is usher's own, which contains its configuration.
	namespace string
	log       logr.Logger

	mu         sync.Mutex
	read       time.Time
	objects    map[string][]*policies.Object
	configured []string
}

// input returns what the rules need to know of the cluster. What usher cannot
// read, it logs and leaves out: a Network does not depend on usher's rights to
// read Nodes.
func (r *ranges) input(ctx context.Context) policies.Input {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.read) >= rangesInterval {
		if err := r.refresh(ctx); err != nil && ctx.Err() == nil {
			r.log.Error(err, "cannot read all of the cluster's own ranges, and does not compare Networks with them")
		}
		r.read = time.Now()
	}
	return policies.Input{Update: true, Lister: known(r.objects), ClusterCIDRs: r.configured}
}

func (r *ranges) refresh(ctx context.Context) error {
	objects := map[string][]*policies.Object{}
	add := func(apiVersion, kind string, o client.Object) {
		objects[kind] = append(objects[kind], policies.NewObject(apiVersion, kind, o))
	}
	var services networkingv1.ServiceCIDRList
	err := r.pages(ctx, &services, func() {
		for _, s := range services.Items {
			add(networkingv1.SchemeGroupVersion.String(), "ServiceCIDR", &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: s.Name}, Spec: s.Spec})
		}
	})
	if meta.IsNoMatchError(err) { // before Kubernetes 1.33
		err = nil
	}
	errServices := wrapped("reading the ServiceCIDRs", err)
	api := &corev1.Service{}
	errAPI := wrapped("reading the Service of the API server", r.live.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, api))
	if errAPI == nil {
		add("v1", "Service", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: api.Namespace, Name: api.Name}, Spec: corev1.ServiceSpec{ClusterIPs: api.Spec.ClusterIPs}})
	}
	var nodes corev1.NodeList
	errNodes := wrapped("reading the Nodes", r.pages(ctx, &nodes, func() {
		for _, n := range nodes.Items {
			add("v1", "Node", &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: corev1.NodeSpec{PodCIDRs: n.Spec.PodCIDRs}, Status: corev1.NodeStatus{Addresses: n.Status.Addresses},
			})
		}
	}))
	configured, errConfigured := r.configuration(ctx)
	r.objects, r.configured = objects, configured
	return errors.Join(errServices, errAPI, errNodes, errConfigured)
}

// configuration returns the ranges in usher's configuration.
func (r *ranges) configuration(ctx context.Context) ([]string, error) {
	cm := &corev1.ConfigMap{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: config.ConfigMapName}, cm)
	if err != nil {
		return nil, wrapped("reading usher's configuration", client.IgnoreNotFound(err))
	}
	parsed, err := config.Parse([]byte(cm.Data[config.ConfigMapKey]))
	if err != nil {
		return nil, wrapped("reading usher's configuration", err)
	}
	return parsed.Networks.ClusterCIDRs, nil
}

// pages calls read for each page of a list.
func (r *ranges) pages(ctx context.Context, list client.ObjectList, read func()) error {
	const size = 100
	for next := ""; ; {
		if err := r.live.List(ctx, list, client.Limit(size), client.Continue(next)); err != nil {
			return err
		}
		read()
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

func wrapped(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// known are objects by kind, of which rules list all.
type known map[string][]*policies.Object

// List implements policies.Lister.
func (k known) List(kind, _ string) (found []*policies.Object, unseen string) { return k[kind], "" }

// Index implements policies.Lister.
func (k known) Index(kind, _ string) (x *related.Index, unseen string) {
	return policies.IndexOf(slices.Values(k[kind])), ""
}

// Get implements policies.Lister.
func (k known) Get(kind, namespace, name string) (found *policies.Object, unseen string) {
	for _, o := range k[kind] {
		if o.Meta.Namespace == namespace && o.Meta.Name == name {
			return o, ""
		}
	}
	return nil, ""
}
