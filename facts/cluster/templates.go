package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
)

// Templates are the valid templates, from their ConfigMaps.
type Templates struct {
	namespace string
	reader    client.Reader // must not be a cache: it reads what the cache lacks
	metrics   *Metrics
	log       logr.Logger

	// Changed is called when the set may have changed; it must not block.
	Changed func()

	set atomic.Pointer[injector.Set]

	mu      sync.Mutex
	sources map[string]source // by ConfigMap
	// deletions counts the deleted ConfigMaps: a response of the API server that a
	// deletion overtook is not stored.
	deletions uint64
	// lists are the lists of all templates.
	lists listGroup
}

// A source is the content of a ConfigMap.
type source struct {
	template string
	version  string // resourceVersion, to detect a change
	entry    injector.Entry
}

// NewTemplates returns an empty store for the ConfigMaps of a namespace.
func NewTemplates(namespace string, reader client.Reader, metrics *Metrics, log logr.Logger) *Templates {
	t := &Templates{namespace: namespace, reader: reader, metrics: metrics, log: log, sources: map[string]source{}, lists: listGroup{timeout: renewTimeout}}
	t.set.Store(injector.NewSet(nil))
	return t
}

// Set returns the current templates.
func (t *Templates) Set() *injector.Set { return t.set.Load() }

// Put stores a ConfigMap after it was created or changed. If its template is
// invalid, the last valid version keeps serving.
func (t *Templates) Put(cm *corev1.ConfigMap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(cm)
}

// put is Put; the caller must hold the lock.
func (t *Templates) put(cm *corev1.ConfigMap) {
	name := template.NameOf(cm.Name, cm.Labels)
	before, known := t.sources[cm.Name]
	if known && !newer(cm.ResourceVersion, before.version) {
		return
	}
	if name == "" {
		if known {
			t.remove(cm.Name)
		}
		return
	}
	s := source{template: name, version: cm.ResourceVersion}
	template, err := template.Parse(name, cm.Data)
	switch {
	case err == nil:
		s.entry.Template = template
		if before.template == name {
			s.entry.Replaced = replaced(before.entry, template, time.Now())
		}
		t.log.Info("template loaded", "template", name, "version", template.Version, "configMap", cm.Name)
	case before.template == name && before.entry.Template != nil:
		s.entry = injector.Entry{Template: before.entry.Template, Err: err, Replaced: before.entry.Replaced}
		t.log.Error(err, "template refused, the last good version keeps serving", "template", name, "configMap", cm.Name, "version", before.entry.Template.Version)
	default:
		s.entry.Err = err
		t.log.Error(err, "template refused, pods that ask for it are denied", "template", name, "configMap", cm.Name)
	}
	t.sources[cm.Name] = s
	t.rebuild()
	t.warn(s.template)
}

// replaced returns the versions that stay valid for a while after a new one.
func replaced(before injector.Entry, now *template.Template, at time.Time) []injector.Replaced {
	kept := slices.DeleteFunc(slices.Clone(before.Replaced), func(r injector.Replaced) bool { return at.Sub(r.At) >= injector.ReplacedFor })
	if before.Template == nil || before.Template.Version == now.Version {
		return kept
	}
	return slices.Insert(kept, 0, injector.Replaced{Template: before.Template, At: at})
}

// newer reports whether an object was stored after the known version: the cache
// may overtake a response to Refresh.
func newer(version, known string) bool {
	order, err := resourceversion.CompareResourceVersion(version, known)
	return err != nil && version != known || order > 0
}

// Delete removes a ConfigMap.
func (t *Templates) Delete(configMap string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deletions++
	if _, known := t.sources[configMap]; known {
		t.remove(configMap)
	}
}

// seen stores ConfigMaps from a response of the API server, unless one was
// deleted since.
func (t *Templates) seen(deletions uint64, answer ...corev1.ConfigMap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deletions != deletions {
		return
	}
	for i := range answer {
		t.put(&answer[i])
	}
}

func (t *Templates) remove(configMap string) {
	t.log.Info("template removed", "template", t.sources[configMap].template, "configMap", configMap)
	delete(t.sources, configMap)
	t.deletions++
	t.rebuild()
}

// warn logs with which others a template cannot be injected, but not all of many: a
// cluster may have hundreds of templates of one container.
func (t *Templates) warn(template string) {
	const most = 5
	conflicts := t.Set().Conflicts(template)
	for _, conflict := range conflicts[:min(most, len(conflicts))] {
		t.log.Info("warning: "+conflict, "hint", "pods that ask for both are denied")
	}
	if more := len(conflicts) - most; more > 0 {
		t.log.Info("warning: the template cannot be injected together with others", "template", template, "more", more)
	}
}

// rebuild rebuilds the set. The caller must hold the lock.
func (t *Templates) rebuild() {
	entries := map[string]injector.Entry{}
	t.metrics.templates.Reset()
	t.metrics.templateInfo.Reset()
	for _, configMap := range slices.Sorted(maps.Keys(t.sources)) {
		s := t.sources[configMap]
		if _, taken := entries[s.template]; taken {
			err := fmt.Errorf("ConfigMap %s holds the template %q, which another ConfigMap holds; delete one of them", configMap, s.template)
			t.log.Error(err, "template ignored")
			s.entry = injector.Entry{Template: entries[s.template].Template, Err: errors.Join(entries[s.template].Err, err)}
		}
		entries[s.template] = s.entry
	}
	for name, entry := range entries {
		valid := 1.0
		if entry.Err != nil {
			valid = 0
		}
		t.metrics.templates.WithLabelValues(name).Set(valid)
		if entry.Template != nil {
			t.metrics.templateInfo.WithLabelValues(name, entry.Template.Version).Set(1)
		}
	}
	set := t.Set().Replace(entries)
	t.set.Store(set)
	if t.Changed != nil {
		t.Changed()
	}
}

// Refresh reads templates that the cache lacks from the API server, because a
// ConfigMap and a pod that asks for it may be applied together. It reports
// whether it found one, and stops at the first missing one: that denies the pod
// whatever the others are, and a pod may ask for hundreds.
func (t *Templates) Refresh(ctx context.Context, names []string) (bool, error) {
	t.mu.Lock()
	deletions := t.deletions
	t.mu.Unlock()
	found := false
	for _, name := range names {
		if template, revision, ok := strings.Cut(name, "/"); ok {
			more, err := t.list(ctx, deletions, name, client.MatchingLabels{wellknown.LabelRevisionOf: template, wellknown.LabelRevision: revision})
			if err != nil || !more {
				return found, err
			}
			found = true
			continue
		}
		cm := &corev1.ConfigMap{}
		err := t.reader.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: name + template.NameSuffix}, cm)
		if err == nil {
			t.seen(deletions, *cm)
			found = true
			continue
		}
		if !apierrors.IsNotFound(err) {
			return found, fmt.Errorf("%w: reading the template %s: %w", errUnavailable, name, err)
		}
		more, err := t.list(ctx, deletions, name, client.MatchingLabels{wellknown.LabelTemplate: name})
		if err != nil || !more {
			return found, err
		}
		found = true
	}
	return found, nil
}

// list lists the ConfigMaps of a template by their labels, and reports whether
// there are any.
func (t *Templates) list(ctx context.Context, deletions uint64, name string, labels client.MatchingLabels) (bool, error) {
	var list corev1.ConfigMapList
	if err := t.reader.List(ctx, &list, client.InNamespace(t.namespace), labels); err != nil {
		return false, fmt.Errorf("%w: listing the templates named %s: %w", errUnavailable, name, err)
	}
	if len(list.Items) == 0 {
		return false, nil
	}
	t.seen(deletions, list.Items...)
	return true, nil
}

// Known reports whether a template exists, and reads one that the cache lacks
// from the API server.
func (t *Templates) Known(ctx context.Context, name string) (bool, error) {
	if _, ok := t.Set().Get(name); ok {
		return true, nil
	}
	return t.Refresh(ctx, []string{name})
}

// State describes each template in one line, for /readyz?verbose.
func (t *Templates) State() []string {
	set := t.Set()
	var lines []string
	for _, name := range set.Names() {
		entry, _ := set.Get(name)
		switch {
		case entry.Err == nil:
			lines = append(lines, fmt.Sprintf("[+]template %s ok: %s", name, entry.Template.Version))
		case entry.Template != nil:
			lines = append(lines, fmt.Sprintf("[!]template %s refused, %s keeps serving: %s", name, entry.Template.Version, oneLine(entry.Err)))
		default:
			lines = append(lines, fmt.Sprintf("[!]template %s refused: %s", name, oneLine(entry.Err)))
		}
	}
	return lines
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
