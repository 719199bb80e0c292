package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// renewTimeout limits a list of all templates.
const renewTimeout = 2 * time.Second

// Renew makes the set at least as new as the templates that the API server had
// when Renew was called. Calls at the same time share a list. An error means that
// the API server did not answer.
func (t *Templates) Renew(ctx context.Context) error {
	list := func(ctx context.Context) listResult {
		if err := t.renew(ctx); err != nil {
			return listResult{unseen: err.Error()}
		}
		return listResult{}
	}
	if result := t.lists.do(ctx, listKey{"ConfigMap", t.namespace}, list).wait(ctx, "ConfigMap"); result.unseen != "" {
		return fmt.Errorf("%w: listing the templates: %s", errUnavailable, result.unseen)
	}
	return nil
}

func (t *Templates) renew(ctx context.Context) error {
	for {
		t.mu.Lock()
		deletions := t.deletions
		t.mu.Unlock()
		var list corev1.ConfigMapList
		if err := t.reader.List(ctx, &list, client.InNamespace(t.namespace)); err != nil {
			return err
		}
		if t.replace(deletions, &list) {
			return nil
		}
	}
}

// replace stores the ConfigMaps of a list, and removes the templates that it lacks
// and that are not newer. It returns false if a deletion overtook the list.
func (t *Templates) replace(deletions uint64, list *corev1.ConfigMapList) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deletions != deletions {
		return false
	}
	listed := map[string]bool{}
	for i := range list.Items {
		listed[list.Items[i].Name] = true
		t.put(&list.Items[i])
	}
	for name, s := range t.sources {
		if !listed[name] && !newer(s.version, list.ResourceVersion) {
			t.remove(name)
		}
	}
	return true
}
