package webhook

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

	"github.com/usher-dev/usher/injector"
)

// Namespaces keeps the labels of usher's that namespaces have, and nothing
// else of them.
type Namespaces struct {
	reader client.Reader // not a cache
	// Changed is called when a namespace asks for other templates than before;
	// it must not block.
	Changed func()

	mu     sync.RWMutex
	labels map[string]map[string]string
}

// NewNamespaces returns an empty store.
func NewNamespaces(reader client.Reader) *Namespaces {
	return &Namespaces{reader: reader, labels: map[string]map[string]string{}}
}

// usherLabels are the labels that decisions read.
func usherLabels(all map[string]string) map[string]string {
	var ours map[string]string
	for key, value := range all {
		if prefix, _, _ := strings.Cut(key, "/"); prefix == "usher.dev" || strings.HasSuffix(prefix, ".usher.dev") || key == injector.OwnNetworkKey {
			if ours == nil {
				ours = map[string]string{}
			}
			ours[key] = value
		}
	}
	return ours
}

// Put takes a namespace in.
func (n *Namespaces) Put(name string, labels map[string]string) {
	ours := usherLabels(labels)
	n.mu.Lock()
	asked := n.labels[name][injector.NamespaceLabel]
	n.labels[name] = ours
	n.mu.Unlock()
	n.tell(asked, ours[injector.NamespaceLabel])
}

func (n *Namespaces) tell(before, now string) {
	if n.Changed != nil && before != now {
		n.Changed()
	}
}

// Delete takes a namespace out.
func (n *Namespaces) Delete(name string) {
	n.mu.Lock()
	asked := n.labels[name][injector.NamespaceLabel]
	delete(n.labels, name)
	n.mu.Unlock()
	n.tell(asked, "")
}

// Labels returns the labels of usher's that a namespace has, asking the API
// server about one that the cache does not know yet.
func (n *Namespaces) Labels(ctx context.Context, name string) (map[string]string, error) {
	n.mu.RLock()
	labels, known := n.labels[name]
	n.mu.RUnlock()
	if known {
		return labels, nil
	}
	return n.Refresh(ctx, name)
}

// Asking counts the namespaces whose label asks for a template.
func (n *Namespaces) Asking(template string) int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	count := 0
	for _, labels := range n.labels {
		if slices.Contains(strings.Split(labels[injector.NamespaceLabel], "."), template) {
			count++
		}
	}
	return count
}

// Values lists the values of the label that asks for templates.
func (n *Namespaces) Values() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	values := map[string]bool{}
	for _, labels := range n.labels {
		if value, ok := labels[injector.NamespaceLabel]; ok {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// Refresh asks the API server.
func (n *Namespaces) Refresh(ctx context.Context, name string) (map[string]string, error) {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(namespaceKind)
	err := n.reader.Get(ctx, client.ObjectKey{Name: name}, ns)
	if apierrors.IsNotFound(err) {
		return nil, nil // a review made by hand: there are no labels to find
	}
	if err != nil {
		return nil, fmt.Errorf("%w: reading the namespace %s: %w", errUnavailable, name, err)
	}
	n.Put(name, ns.Labels)
	return usherLabels(ns.Labels), nil
}
