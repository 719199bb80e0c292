package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/template"
)

// Namespaces stores only the labels and annotations of namespaces: templates select
// by any label, Pod Security uses some, and parameters of templates may come from
// annotations.
type Namespaces struct {
	reader client.Reader // must not be a cache
	// Changed is called when the templates that a namespace asks for change; it
	// must not block.
	Changed func()

	mu    sync.RWMutex
	known map[string]namespace
	// deletions counts the deleted namespaces: a response of the API server that a
	// deletion overtook is not stored.
	deletions uint64
}

// A namespace is the stored part of one.
type namespace struct {
	version             string // resourceVersion
	labels, annotations map[string]string
}

// NewNamespaces returns an empty store.
func NewNamespaces(reader client.Reader) *Namespaces {
	return &Namespaces{reader: reader, known: map[string]namespace{}}
}

// Put stores a namespace, unless a later version of it is known.
func (n *Namespaces) Put(ns *metav1.PartialObjectMetadata) {
	n.mu.Lock()
	changed := n.put(ns)
	n.mu.Unlock()
	n.notify(changed)
}

// put reports whether the templates that the namespace asks for changed. The
// caller must hold the lock.
func (n *Namespaces) put(ns *metav1.PartialObjectMetadata) bool {
	before, known := n.known[ns.Name]
	if known && !newer(ns.ResourceVersion, before.version) {
		return false
	}
	now := namespace{version: ns.ResourceVersion, labels: ns.Labels, annotations: shortAnnotations(ns.Annotations)}
	n.known[ns.Name] = now
	return before.labels[wellknown.LabelTemplates] != now.labels[wellknown.LabelTemplates]
}

func (n *Namespaces) notify(changed bool) {
	if n.Changed != nil && changed {
		n.Changed()
	}
}

// Delete removes a namespace, unless one with its name was created after the
// deleted version. An empty version means unknown.
func (n *Namespaces) Delete(name, version string) {
	n.mu.Lock()
	n.deletions++
	before := n.known[name]
	kept := version != "" && newer(before.version, version)
	if !kept {
		delete(n.known, name)
	}
	n.mu.Unlock()
	n.notify(!kept && before.labels[wellknown.LabelTemplates] != "")
}

// Metadata returns the labels and annotations of a namespace, which the caller must
// not change. It reads from the API server a namespace that the cache does not have
// yet.
func (n *Namespaces) Metadata(ctx context.Context, name string) (labels, annotations map[string]string, err error) {
	n.mu.RLock()
	ns, known := n.known[name]
	n.mu.RUnlock()
	if known {
		return ns.labels, ns.annotations, nil
	}
	return n.Refresh(ctx, name)
}

// Asking counts the namespaces whose labels ask for a template, or select a revision
// of one, <template>/<revision>.
func (n *Namespaces) Asking(name string) int {
	of, revision, isRevision := strings.Cut(name, "/")
	return len(n.Selected(func(_ string, labels map[string]string) bool {
		if isRevision {
			picked, err := template.PickedRevisions(labels[wellknown.LabelRevisions])
			return err == nil && picked[of] == revision
		}
		return slices.Contains(strings.Split(labels[wellknown.LabelTemplates], "."), name)
	}))
}

// Selected lists the namespaces that a function selects by their labels, which it
// must not change, by name.
func (n *Namespaces) Selected(selects func(name string, labels map[string]string) bool) []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var names []string
	for name, ns := range n.known {
		if selects(name, ns.labels) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Values lists the values of the label that asks for templates.
func (n *Namespaces) Values() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	values := map[string]bool{}
	for _, ns := range n.known {
		if value, ok := ns.labels[wellknown.LabelTemplates]; ok {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// Refresh reads the labels and annotations of a namespace from the API server.
func (n *Namespaces) Refresh(ctx context.Context, name string) (labels, annotations map[string]string, err error) {
	n.mu.RLock()
	deletions := n.deletions
	n.mu.RUnlock()
	ns := partialNamespace()
	err = n.reader.Get(ctx, client.ObjectKey{Name: name}, ns)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil // a review without a namespace has no labels
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: reading the namespace %s: %w", errUnavailable, name, err)
	}
	n.mu.Lock()
	changed := n.deletions == deletions && n.put(ns)
	n.mu.Unlock()
	n.notify(changed)
	return ns.Labels, shortAnnotations(ns.Annotations), nil
}
