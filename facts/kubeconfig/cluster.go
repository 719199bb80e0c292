// Package kubeconfig gathers the facts for a verdict from a cluster with a
// kubeconfig, so that the command line decides about objects in a cluster like
// the webhook there.
package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// listTimeout limits each list of other objects, for which a person waits.
const listTimeout = 30 * time.Second

// A Cluster is a connection, and what was read from the cluster. It is a
// facts.Source.
type Cluster struct {
	client.Client
	Installation
	// IsRegistered is true if the API server calls the installation.
	IsRegistered bool
	// Templates are those of usher's namespace; nil if the user may not read them,
	// which is common for users with rights in one namespace: templates may
	// contain secrets.
	Templates *injector.Set
	// Configured is usher's configuration; nil if the user may not read it.
	Configured *cluster.Configuration

	// world has the default configuration and no templates if Templates is nil.
	world      *verdict.World
	objects    *cluster.Lister
	dry        client.Client
	warnings   *warnings
	namespaces map[string]*metav1.PartialObjectMetadata
	owners     map[types.UID][]Owner
}

// Connect reads the registration, the templates and whether the cluster supports
// native sidecars.
func Connect(ctx context.Context, connection *rest.Config, usher Installation) (*Cluster, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme), autoscalingv2.AddToScheme(scheme),
		policyv1.AddToScheme(scheme), samplecrdv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		return nil, err
	}
	c := &Cluster{Installation: usher, warnings: &warnings{}, namespaces: map[string]*metav1.PartialObjectMetadata{}, owners: map[types.UID][]Owner{}}
	var err error
	if c.Client, err = client.New(connection, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	connection = rest.CopyConfig(connection)
	connection.WarningHandler = c.warnings
	if c.dry, err = client.New(connection, client.Options{Scheme: scheme, Mapper: c.RESTMapper()}); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	c.objects = cluster.NewLister(c, listTimeout)
	c.world = &verdict.World{Transitions: transition.All(), Defaulted: true, Explain: true}
	if c.IsRegistered, c.world.Scope, err = usher.Registered(ctx, c.Client); err != nil {
		return nil, err
	}
	if err := c.readInstalled(ctx); err != nil || c.Templates == nil {
		return c, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	sidecars := &cluster.Sidecars{Discovery: discover, Reader: c, Log: logr.Discard()}
	if err := sidecars.Update(ctx); err != nil {
		return nil, fmt.Errorf("reading the cluster's version: %w", err)
	}
	c.world.NativeSidecars, c.world.Server = sidecars.Available(), sidecars.Server()
	return c, nil
}

// NamespaceLabels returns the labels of a namespace, read once.
func (c *Cluster) NamespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	if ns, ok := c.namespaces[name]; ok {
		return ns.Labels, nil
	}
	ns, err := c.Namespace(ctx, name)
	if err != nil {
		return nil, err
	}
	c.namespaces[name] = ns
	return ns.Labels, nil
}

// Namespace returns the metadata of a namespace.
func (c *Cluster) Namespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	ns := metadata("Namespace")
	err := c.Get(ctx, client.ObjectKey{Name: name}, ns)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the namespace %q does not exist: create it, or name another: %w", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the namespace %s: %w", name, err)
	}
	return ns, nil
}

// metadata is an object of the core group of which only the metadata is read.
func metadata(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	return object
}
