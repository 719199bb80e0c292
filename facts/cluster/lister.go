package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
)

// Limits of lists while requests wait: of one list, and of the lists that have
// a page in memory at the same time.
const (
	ListTimeout = 200 * time.Millisecond
	listLimit   = 500
	listsAtOnce = 4
	walksAtOnce = 2
	nodeLimit   = 100
)

// A Lister lists the other objects that rules read.
type Lister struct {
	// Reader must not be a cache.
	Reader client.Reader
	// Related has the kinds that rules compare with every workload.
	Related RelatedCache

	timeout time.Duration // of one list
	pages   *pages
	walks   *pages
	shared  listGroup
}

// NewLister returns a Lister of a reader that is not a cache. Each of its lists
// ends after the timeout.
func NewLister(reader client.Reader, timeout time.Duration) *Lister {
	return &Lister{Reader: reader, timeout: timeout, pages: newPages(reader, listsAtOnce), walks: newPages(reader, walksAtOnce), shared: listGroup{timeout: timeout}}
}

// Cached lists like Direct, and takes the indexes from Related as far as it has
// the kinds.
func (l *Lister) Cached(ctx context.Context, namespace string, kinds ...string) policies.Lister {
	return cached{l.direct(ctx, namespace, slices.DeleteFunc(slices.Clone(kinds), l.Related.keeps)...), &l.Related}
}

// cached is a policies.Lister for one request.
type cached struct {
	direct
	related *RelatedCache
}

// Index implements policies.Lister.
func (c cached) Index(kind, namespace string) (*related.Index, string) {
	if x, ok := c.related.index(listKey{kind, namespace}); ok {
		return x, ""
	}
	return c.direct.Index(kind, namespace)
}

// Direct lists the objects of a namespace, or of all, from the API server: each
// kind once, and at most listLimit objects. usher does not cache whole objects, because
// their specs would need most of the memory. Requests that need the same list
// at the same time share it. The lists of the named kinds begin at once, all
// others when a rule asks for them.
func (l *Lister) Direct(ctx context.Context, namespace string, kinds ...string) policies.Lister {
	return l.direct(ctx, namespace, kinds...)
}

func (l *Lister) direct(ctx context.Context, namespace string, kinds ...string) direct {
	d := direct{ctx: ctx, lister: l, calls: map[listKey]*call{}}
	for _, kind := range kinds {
		d.start(kind, namespace)
	}
	return d
}

// direct is a policies.Lister for one request.
type direct struct {
	ctx    context.Context
	lister *Lister
	calls  map[listKey]*call
}

func (d direct) start(kind, namespace string) *call {
	if namespace == policies.Everywhere {
		namespace = metav1.NamespaceAll
	}
	key := listKey{kind, namespace}
	begun := d.calls[key]
	if begun == nil {
		begun = d.lister.shared.do(d.ctx, key, func(ctx context.Context) listResult { return d.lister.read(ctx, kind, namespace) })
		d.calls[key] = begun
	}
	return begun
}

// List implements policies.Lister.
func (d direct) List(kind, namespace string) ([]*policies.Object, string) {
	if kind == limitRange {
		return d.lister.limitRanges(d.ctx, namespace)
	}
	result := d.start(kind, namespace).wait(d.ctx, kind)
	if result.index != nil {
		return nil, fmt.Sprintf("usher does not list the objects of kind %s", kind) // but indexes them
	}
	return result.found, result.unseen
}

// Index implements policies.Lister.
func (d direct) Index(kind, namespace string) (*related.Index, string) {
	result := d.start(kind, namespace).wait(d.ctx, kind)
	if result.index == nil {
		return noObjects, result.unseen
	}
	return result.index, result.unseen
}

// Get implements policies.Lister. It reads only the metadata, because usher may
// not read the contents of Secrets.
func (d direct) Get(kind, namespace, name string) (*policies.Object, string) {
	ctx, cancel := context.WithTimeout(d.ctx, d.lister.timeout)
	defer cancel()
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	switch err := d.lister.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); {
	case apierrors.IsNotFound(err):
		return nil, ""
	case err != nil:
		return nil, unread(kind).unseen
	}
	return &policies.Object{APIVersion: "v1", Kind: kind, Meta: &object.ObjectMeta}, ""
}

// limitRange is the kind whose lists end with the request: what LimitRanges refuse
// only causes a warning, for which no other request waits.
const limitRange = "LimitRange"

func (l *Lister) limitRanges(ctx context.Context, namespace string) ([]*policies.Object, string) {
	var list corev1.LimitRangeList
	if l.Reader.List(ctx, &list, client.InNamespace(namespace)) != nil {
		return nil, unread(limitRange).unseen
	}
	found := make([]*policies.Object, len(list.Items))
	for i := range list.Items {
		found[i] = policies.NewObject(corev1.SchemeGroupVersion.String(), limitRange, &list.Items[i])
	}
	return found, ""
}

// A listResult contains the objects of a kind in a namespace, and describes what
// is missing. The kinds that RelatedCache stores are only in the index.
type listResult struct {
	found  []*policies.Object
	index  *related.Index
	unseen string
}

func unread(kind string) listResult {
	return listResult{unseen: fmt.Sprintf("usher could not read the objects of kind %s", kind)}
}

// read lists the objects of a kind.
func (l *Lister) read(ctx context.Context, kind, namespace string) listResult {
	of := kinds.Named(kind)
	if !of.Is(kinds.Listed) {
		return listResult{unseen: fmt.Sprintf("usher does not read objects of kind %s in the cluster", kind)}
	}
	var p listResult
	var kin []*related.Object
	limit := listLimit
	if kind == "Node" { // it may have tens of kilobytes, mostly names of images
		limit = nodeLimit
	}
	complete, err := l.pages.each(ctx, of.NewList().(client.ObjectList), namespace, limit, func(o client.Object) {
		if kept, ok := trim(o).(*trimmed); ok {
			kin = append(kin, &kept.Object)
			return
		}
		p.found = append(p.found, policies.NewObject(of.APIVersion, kind, o))
	})
	switch {
	case meta.IsNoMatchError(err): // a cluster without the kind has no objects of it
		return listResult{}
	case err != nil:
		return unread(kind)
	case !complete:
		p.unseen = fmt.Sprintf("usher read only %d objects of kind %s", limit, kind)
	}
	if len(kin) > 0 {
		p.index = related.NewIndex(kin)
	}
	return p
}
