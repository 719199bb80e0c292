// Package healing counts the pods that have the templates they ask for, and restarts
// the workloads of those that lack one, where the template asks for it
// (options.heal).
//
// While usher is down pods are created without their sidecars. When it is back, the
// workloads that made them are restarted as `usher drift --restart` does: one after
// the other, at a rate, waiting for each rollout and for disruption budgets. What the
// restart was for is recorded on the workload, so that one that did not help is not
// tried again.
package healing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/facts/live"
	"github.com/usher-dev/usher/injector"
)

// Defaults of Options.
const (
	// DefaultInterval is how often pods are counted.
	DefaultInterval = 15 * time.Second
	// DefaultRate is how long after the start of one restart the next one begins, at
	// the soonest.
	DefaultRate = 10 * time.Second
	// rolloutTimeout is how long one workload may take.
	rolloutTimeout = 10 * time.Minute
)

// Options configure a Controller.
type Options struct {
	// Namespace is usher's own.
	Namespace string
	// Deployment is the name of the webhook's Deployment there, by which the end of
	// an outage is known.
	Deployment string
	// Interval and Rate are DefaultInterval and DefaultRate where they are zero.
	Interval, Rate time.Duration
	// Registry gets the metric usher_pods.
	Registry prometheus.Registerer
}

// A Controller counts pods and heals workloads.
type Controller struct {
	options Options
	config  *rest.Config
	reader  client.Reader // not a cache
	log     logr.Logger

	pods, namespaces toolscache.SharedIndexInformer
	templates        *cluster.Templates
	gauge            *prometheus.GaugeVec
	known            map[string]bool // ConfigMaps of templates
	healing          sync.Mutex      // held while workloads are restarted
	running          sync.WaitGroup
}

// AddToScheme adds the types that the controller reads.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{corev1.AddToScheme, appsv1.AddToScheme, metav1.AddMetaToScheme}).AddToScheme(s)
}

// New returns the controller of that manager's cluster.
func New(m manager.Manager, o Options) (*Controller, error) {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	metadataClient, err := metadata.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	log := m.GetLogger().WithName("healing")
	c := &Controller{
		options: o, config: m.GetConfig(), reader: m.GetAPIReader(), log: log, known: map[string]bool{},
		templates: cluster.NewTemplates(o.Namespace, m.GetAPIReader(), cluster.NewMetrics(prometheus.NewRegistry()), logr.Discard()),
		gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_pods", Help: "Pods that run and ask for a template or have it, by whether they have the version that new pods get, another one, or none.",
		}, []string{"template", "state"}),
	}
	if o.Registry != nil {
		err := o.Registry.Register(c.gauge)
		var again prometheus.AlreadyRegisteredError
		if errors.As(err, &again) { // set up once more in the process
			c.gauge, _ = again.ExistingCollector.(*prometheus.GaugeVec)
		} else if err != nil {
			return nil, fmt.Errorf("registering the metric usher_pods: %w", err)
		}
	}
	c.pods, err = informer(metadataClient, "pods", live.Running(), trimPod)
	if err == nil {
		c.namespaces, err = informer(metadataClient, "namespaces", fields.Everything(), trimNamespace)
	}
	return c, err
}

// informer keeps the metadata of a resource, of what a selector selects.
func informer(c metadata.Interface, resource string, selector fields.Selector, trim toolscache.TransformFunc) (toolscache.SharedIndexInformer, error) {
	i := metadatainformer.NewFilteredMetadataInformer(c, corev1.SchemeGroupVersion.WithResource(resource), metav1.NamespaceAll, 0,
		toolscache.Indexers{}, func(o *metav1.ListOptions) { o.FieldSelector = selector.String() }).Informer()
	if err := i.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watching the %s: %w", resource, err)
	}
	return i, nil
}

// SetupWithManager makes the manager run the controller.
func (c *Controller) SetupWithManager(m manager.Manager) error { return m.Add(c) }

// Start implements manager.Runnable.
func (c *Controller) Start(ctx context.Context) error {
	go c.pods.RunWithContext(ctx)
	go c.namespaces.RunWithContext(ctx)
	if !toolscache.WaitForCacheSync(ctx.Done(), c.pods.HasSynced, c.namespaces.HasSynced) {
		return nil
	}
	tick := time.NewTicker(c.options.Interval)
	defer tick.Stop()
	defer c.running.Wait()
	for {
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "cannot see which pods lack a template")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look counts the pods, and heals where that is wanted.
func (c *Controller) look(ctx context.Context) error {
	if err := c.readTemplates(ctx); err != nil {
		return err
	}
	counts, lacking := c.count()
	c.gauge.Reset()
	for of, n := range counts {
		c.gauge.WithLabelValues(of.template, string(of.state)).Set(float64(n))
	}
	if len(lacking) > 0 && c.healing.TryLock() {
		// It waits for rollouts, and pods are counted meanwhile.
		c.running.Go(func() {
			defer c.healing.Unlock()
			if err := c.heal(ctx, lacking); err != nil && ctx.Err() == nil {
				c.log.Error(err, "cannot restart every workload whose pods lack a template")
			}
		})
	}
	return nil
}

// readTemplates reads the ConfigMaps of usher's namespace.
func (c *Controller) readTemplates(ctx context.Context) error {
	var list corev1.ConfigMapList
	if err := c.reader.List(ctx, &list, client.InNamespace(c.options.Namespace)); err != nil {
		return fmt.Errorf("reading the templates: %w", err)
	}
	now := map[string]bool{}
	for i := range list.Items {
		now[list.Items[i].Name] = true
		c.templates.Put(&list.Items[i])
	}
	for name := range c.known {
		if !now[name] {
			c.templates.Delete(name)
		}
	}
	c.known = now
	return nil
}

// counted is what pods are counted by.
type counted struct {
	template string
	state    injector.SidecarState
}

// count counts the pods by template and state, and names the namespaces with pods
// that lack a template which is to be healed.
func (c *Controller) count() (counts map[counted]int, lacking map[string]bool) {
	counts, lacking = map[counted]int{}, map[string]bool{}
	set := c.templates.Set()
	for _, name := range set.Names() {
		for _, state := range []injector.SidecarState{injector.Current, injector.Outdated, injector.Missing} {
			counts[counted{name, state}] = 0 // a template without pods is there, too
		}
	}
	for _, object := range c.pods.GetStore().List() {
		pod, ok := object.(*metav1.PartialObjectMetadata)
		if !ok || pod.DeletionTimestamp != nil || c.excluded(pod.Namespace) {
			continue
		}
		var labels map[string]string
		if ns, found, _ := c.namespaces.GetStore().GetByKey(pod.Namespace); found {
			labels = ns.(*metav1.PartialObjectMetadata).Labels
		}
		for _, s := range injector.Sidecars(pod.Annotations, injector.PodSubject(pod, labels), set) {
			counts[counted{s.Template, s.State}]++
			if s.State == injector.Missing && heals(set, s.Template) {
				lacking[pod.Namespace] = true
			}
		}
	}
	return counts, lacking
}

// excluded reports whether pods of a namespace are never injected.
func (c *Controller) excluded(namespace string) bool {
	return namespace == c.options.Namespace || injector.Excluded(namespace)
}

// heals reports whether a template asks to be healed.
func heals(set *injector.Set, template string) bool {
	known, _ := set.Get(template)
	return known.Template != nil && known.Template.Options.Heal
}
