// Package healing counts the pods that have the templates they ask for, and restarts
// the workloads of those that lack one, if the template asks for it
// (options.heal).
//
// While usher is down, pods start without their sidecars. Afterwards the
// controller restarts their workloads like `usher drift --restart`: one after
// the other, rate limited, waiting for each rollout and for disruption budgets.
// It records the reason on the workload, so that it does not repeat a restart
// that did not help.
package healing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
)

// Defaults of Options.
const (
	// DefaultInterval is how often pods are counted.
	DefaultInterval = 15 * time.Second
	// DefaultRate is the minimum time between the starts of two restarts.
	DefaultRate = 10 * time.Second
	// rolloutTimeout is how long one workload may take.
	rolloutTimeout = 10 * time.Minute
)

// Options configures a Controller.
type Options struct {
	// Namespace is usher's own namespace.
	Namespace string
	// Deployment is the name of the webhook's Deployment there, whose status shows
	// the end of an outage.
	Deployment string
	// ConfigurationName is the name of the webhook configurations; the default is
	// wellknown.DefaultConfigurationName.
	ConfigurationName string
	// Interval and Rate default to DefaultInterval and DefaultRate.
	Interval, Rate time.Duration
	// Registry receives the metric usher_pods.
	Registry prometheus.Registerer
}

// A Controller counts pods and heals workloads.
type Controller struct {
	options Options
	config  *rest.Config
	reader  client.Reader // must not be a cache
	log     logr.Logger

	pods, namespaces toolscache.SharedIndexInformer
	templates        *cluster.Templates
	gauge            *prometheus.GaugeVec
	known            map[string]bool // ConfigMaps of templates
	scope            decision.Scope  // of the last registration
	verdicts         verdicts
	events           events.EventRecorder
	told             *utilcache.LRUExpireCache
	healing          sync.Mutex // held while workloads are being restarted
	running          sync.WaitGroup
}

// AddToScheme adds the types that the controller reads.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{corev1.AddToScheme, appsv1.AddToScheme, metav1.AddMetaToScheme}).AddToScheme(s)
}

// New returns the controller for that manager's cluster.
func New(m manager.Manager, o Options) (*Controller, error) {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	o.ConfigurationName = cmp.Or(o.ConfigurationName, wellknown.DefaultConfigurationName)
	metadataClient, err := metadata.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	log := m.GetLogger().WithName("healing")
	c := &Controller{
		options: o, config: m.GetConfig(), reader: m.GetAPIReader(), log: log, known: map[string]bool{},
		events: m.GetEventRecorder("usher-healing"), told: utilcache.NewLRUExpireCache(remembered), scope: decision.Scope{ReleaseNamespace: o.Namespace},
		templates: cluster.NewTemplates(o.Namespace, m.GetAPIReader(), cluster.NewMetrics(prometheus.NewRegistry()), logr.Discard()),
		gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_pods", Help: "Running pods that ask for a template or have it, by whether they have its current version, another one, or none.",
		}, []string{"template", "state"}),
	}
	if o.Registry != nil {
		err := o.Registry.Register(c.gauge)
		var again prometheus.AlreadyRegisteredError
		if errors.As(err, &again) { // registered before in this process
			c.gauge, _ = again.ExistingCollector.(*prometheus.GaugeVec)
		} else if err != nil {
			return nil, fmt.Errorf("registering the metric usher_pods: %w", err)
		}
	}
	c.pods, err = informer(metadataClient, "pods", kubeconfig.Running(), trimPod)
	if err == nil {
		c.namespaces, err = informer(metadataClient, "namespaces", fields.Everything(), trimNamespace)
	}
	return c, err
}

// informer caches the metadata of a resource's objects that match a selector.
func informer(c metadata.Interface, resource string, selector fields.Selector, trim toolscache.TransformFunc) (toolscache.SharedIndexInformer, error) {
	i := metadatainformer.NewFilteredMetadataInformer(c, corev1.SchemeGroupVersion.WithResource(resource), metav1.NamespaceAll, 0,
		toolscache.Indexers{}, func(o *metav1.ListOptions) { o.FieldSelector = selector.String() }).Informer()
	if err := i.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watching the %s: %w", resource, err)
	}
	return i, nil
}

// SetupWithManager adds the controller to the manager.
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
			c.log.Error(err, "cannot determine which pods lack a template")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look counts the pods, and heals if requested.
func (c *Controller) look(ctx context.Context) error {
	if err := c.readTemplates(ctx); err != nil {
		return err
	}
	// While usher is not registered, the last scope stays.
	if registered, scope, err := c.installation().Registered(ctx, c.reader); err != nil {
		return err
	} else if registered {
		c.scope = scope
	}
	counts, missing, judging := c.count(ctx)
	c.gauge.Reset()
	for of, n := range counts {
		c.gauge.WithLabelValues(of.template, string(of.state)).Set(float64(n))
	}
	c.tell(missing)
	missing = slices.DeleteFunc(missing, func(f drift.Finding) bool { return !heals(c.templates.Set(), f.Template) })
	if len(missing) > 0 && c.healing.TryLock() {
		// Healing waits for rollouts, while the controller keeps counting pods.
		c.running.Go(func() {
			defer c.healing.Unlock()
			if err := c.heal(ctx, missing); err != nil && ctx.Err() == nil {
				c.log.Error(err, "cannot restart every workload whose pods lack a template")
			}
		})
	}
	return judging
}

// readTemplates reads the ConfigMaps in usher's namespace.
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

// counted is the key by which pods are counted.
type counted struct {
	template string
	state    injector.SidecarState
}

// lacking is a pod whose metadata says that it lacks templates.
type lacking struct {
	pod, namespace *metav1.PartialObjectMetadata
	templates      []string
}

// count counts the pods by template and state, and returns the findings about pods
// that lack a template. A pod whose metadata says that it lacks a
// template is counted by its verdict. After an error, those that have none yet are
// counted by their metadata.
func (c *Controller) count(ctx context.Context) (counts map[counted]int, missing []drift.Finding, err error) {
	counts = map[counted]int{}
	set := c.templates.Set()
	for _, name := range set.Names() {
		for _, state := range []injector.SidecarState{injector.Current, injector.Outdated, injector.Missing} {
			counts[counted{name, state}] = 0 // include a template without pods
		}
	}
	var candidates []lacking
	for _, object := range c.pods.GetStore().List() {
		pod, ok := object.(*metav1.PartialObjectMetadata)
		if !ok || pod.DeletionTimestamp != nil {
			continue
		}
		namespace := &metav1.PartialObjectMetadata{}
		if found, ok, _ := c.namespaces.GetStore().GetByKey(pod.Namespace); ok {
			namespace = found.(*metav1.PartialObjectMetadata)
		}
		if c.scope.Excludes(pod.Namespace, namespace.Labels) {
			continue
		}
		candidate := lacking{pod: pod, namespace: namespace}
		for _, s := range injector.Sidecars(pod.Annotations, injector.PodSubject(pod, namespace.Labels), set) {
			if s.State == injector.Missing {
				candidate.templates = append(candidate.templates, s.Template)
				continue
			}
			counts[counted{s.Template, s.State}]++
		}
		if len(candidate.templates) > 0 {
			candidates = append(candidates, candidate)
		}
	}
	known, err := c.verdicts.look(ctx, set, candidates, time.Now(), c.judgement())
	for _, candidate := range candidates {
		v, judged := known[candidate.pod.UID]
		for _, template := range candidate.templates {
			if !judged || v.lacks(template) {
				counts[counted{template, injector.Missing}]++
			}
		}
		for _, f := range v.findings {
			if f.State == drift.Missing {
				missing = append(missing, f)
			}
		}
	}
	slices.SortFunc(missing, func(a, b drift.Finding) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Template, b.Template))
	})
	return counts, missing, err
}

// judgement decides like usher drift. It connects to the cluster once there is a pod
// to decide about.
func (c *Controller) judgement() judgement {
	var finder *drift.Finder
	return func(ctx context.Context, pod *metav1.PartialObjectMetadata) ([]drift.Finding, error) {
		if finder == nil {
			now, err := kubeconfig.Connect(ctx, c.config, c.installation())
			if err != nil {
				return nil, err
			}
			finder = drift.NewFinder(now)
		}
		findings, err := finder.Pod(ctx, pod)
		if err != nil {
			return nil, fmt.Errorf("deciding whether pod %s/%s lacks a template: %w", pod.Namespace, pod.Name, err)
		}
		return findings, nil
	}
}

func (c *Controller) installation() kubeconfig.Installation {
	return kubeconfig.Installation{Own: c.options.Namespace, Configuration: c.options.ConfigurationName}
}

// heals reports whether a template asks for healing.
func heals(set *injector.Set, template string) bool {
	known, _ := set.Get(template)
	return known.Template != nil && known.Template.Options.Heal
}
