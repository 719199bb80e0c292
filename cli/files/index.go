package files

import (
	"cmp"
	"sync/atomic"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
)

// An index finds documents by kind and namespace. It decodes each once, and
// drops the decoded objects once every object of the namespace has been judged.
type index struct {
	namespace string // of documents without a namespace
	lists     map[listKey]*listing
	entries   map[*manifest.Document]*entry
	groups    map[string]*group // by namespace
}

// A group contains the documents of one namespace.
type group struct {
	listings []*listing
	unjudged atomic.Int64
}

// A listing has the documents of one key, and what lookups made of them, kept
// while the rules use it.
type listing struct {
	entries []*entry
	objects atomic.Pointer[[]*policies.Object]
	index   atomic.Pointer[related.Index]
	named   atomic.Pointer[map[string]*policies.Object]
}

// A listKey is a kind and namespace to list.
type listKey struct{ kind, namespace string }

// An entry is a document, decoded on first use.
type entry struct {
	doc   *manifest.Document
	typed atomic.Pointer[policies.Object]
}

func newIndex(docs []*manifest.Document, namespace string) index {
	x := index{
		namespace: namespace, lists: map[listKey]*listing{}, entries: make(map[*manifest.Document]*entry, len(docs)),
		groups: map[string]*group{},
	}
	for _, d := range docs {
		if !policies.Known(d.APIVersion, d.Kind) {
			continue
		}
		e := &entry{doc: d}
		x.entries[d] = e
		own := x.namespaceOf(d)
		g := x.groups[own]
		if g == nil {
			g = &group{}
			x.groups[own] = g
		}
		g.unjudged.Add(1)
		for _, in := range []string{own, policies.Everywhere} {
			at := listKey{d.Kind, in}
			l := x.lists[at]
			if l == nil {
				l = &listing{}
				x.lists[at] = l
				if in == own {
					g.listings = append(g.listings, l)
				}
			}
			l.entries = append(l.entries, e)
		}
	}
	return x
}

func (x index) namespaceOf(d *manifest.Document) string { return cmp.Or(d.Namespace, x.namespace) }

// decoded is the object of a document whose kind rules know; else nil.
func (x index) decoded(d *manifest.Document, evaluator *policies.Evaluator) *policies.Object {
	if e := x.entries[d]; e != nil {
		return e.decoded(evaluator)
	}
	return nil
}

func (e *entry) decoded(evaluator *policies.Evaluator) *policies.Object {
	if typed := e.typed.Load(); typed != nil {
		return typed
	}
	typed := evaluator.Decode(e.doc.APIVersion, e.doc.Kind, e.doc.JSON)
	e.typed.Store(typed)
	return typed
}

// judged records that a document has been judged. After the last one of a
// namespace it releases all of its objects; a later lookup decodes them again.
func (x index) judged(d *manifest.Document) {
	if x.entries[d] == nil {
		return
	}
	if g := x.groups[x.namespaceOf(d)]; g.unjudged.Add(-1) == 0 {
		for _, l := range g.listings {
			l.objects.Store(nil)
			l.index.Store(nil)
			l.named.Store(nil)
			for _, e := range l.entries {
				e.typed.Store(nil)
			}
		}
	}
}

// lister finds the objects among the files. It reports that it does not see
// other objects of the cluster.
func (x index) lister(evaluator *policies.Evaluator) policies.Lister {
	return listed{x, evaluator}
}

type listed struct {
	index
	evaluator *policies.Evaluator
}

// List implements policies.Lister.
func (l listed) List(kind, namespace string) ([]*policies.Object, string) {
	at := l.lists[listKey{kind, cmp.Or(namespace, l.namespace)}]
	if at == nil {
		return nil, unseen
	}
	if kept := at.objects.Load(); kept != nil {
		return *kept, unseen
	}
	found := make([]*policies.Object, 0, len(at.entries))
	for _, e := range at.entries {
		if o := e.decoded(l.evaluator); o.Decodable() && o.Meta != nil {
			found = append(found, o)
		}
	}
	at.objects.Store(&found)
	return found, unseen
}

// Index implements policies.Lister.
func (l listed) Index(kind, namespace string) (*related.Index, string) {
	at := l.lists[listKey{kind, cmp.Or(namespace, l.namespace)}]
	if at == nil {
		return &related.Index{}, unseen
	}
	if kept := at.index.Load(); kept != nil {
		return kept, unseen
	}
	found, unseen := l.List(kind, namespace)
	x := policies.IndexOf(found)
	at.index.Store(x)
	return x, unseen
}

// Find implements policies.Finder.
func (l listed) Find(kind, namespace, name string) (*policies.Object, string) {
	at := l.lists[listKey{kind, cmp.Or(namespace, l.namespace)}]
	if at == nil {
		return nil, unseen
	}
	named := at.named.Load()
	if named == nil {
		named = &map[string]*policies.Object{}
		found, _ := l.List(kind, namespace)
		for _, o := range found {
			if (*named)[o.Meta.Name] == nil {
				(*named)[o.Meta.Name] = o
			}
		}
		at.named.Store(named)
	}
	if o := (*named)[name]; o != nil {
		return o, ""
	}
	return nil, unseen
}

// Get implements policies.Lister.
func (l listed) Get(kind, namespace, name string) (*policies.Object, string) {
	return l.Find(kind, namespace, name)
}
