package cluster

import (
	"context"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects the API server sends at once. A page of
// Deployments of 8 KB takes about 3 MB until it is trimmed.
const pageSize = 100

// pages lists objects in pages, of which only a few are in memory at the same
// time, however many requests list.
type pages struct {
	reader client.Reader
	atOnce *semaphore.Weighted
}

func newPages(reader client.Reader, atOnce int64) *pages {
	return &pages{reader, semaphore.NewWeighted(atOnce)}
}

// each visits the objects of a kind in a namespace, at most limit of them, and
// reports whether these were all. visit must not keep the object if it is large.
func (p *pages) each(ctx context.Context, of client.ObjectList, namespace string, limit int, visit func(client.Object)) (complete bool, err error) {
	for next := ""; limit > 0; {
		visited := 0
		if next, err = p.one(ctx, of, namespace, min(limit, pageSize), next, func(o client.Object) {
			visited++
			visit(o)
		}); err != nil {
			return false, err
		}
		if next == "" {
			return true, nil
		}
		limit -= max(1, visited)
	}
	return false, nil
}

// one visits the objects of one page, and returns where the next one begins; ""
// after the last.
func (p *pages) one(ctx context.Context, of client.ObjectList, namespace string, limit int, from string, visit func(client.Object)) (next string, err error) {
	if err := p.atOnce.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer p.atOnce.Release(1)
	page := of.DeepCopyObject().(client.ObjectList)
	if err := p.reader.List(ctx, page, client.InNamespace(namespace), client.Limit(int64(limit)), client.Continue(from)); err != nil {
		return "", err
	}
	err = meta.EachListItem(page, func(item runtime.Object) error {
		visit(item.(client.Object))
		return nil
	})
	return page.GetContinue(), err
}
