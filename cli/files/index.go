package files

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
)

// An index finds documents by kind and namespace. It keeps a limited number of
// decoded objects, and drops them once every object of the namespace has been judged.
type index struct {
	namespace string // of documents without a namespace
	lists     map[listKey]*listing
	entries   map[*manifest.Document]*entry
	groups    map[string]*group // by namespace
	kept      *atomic.Int64     // decoded objects
	// pods are what selectors select, by unit, and partial the units that are not whole.
	pods    map[string]*selectable
	partial map[string]bool
}

// maxKept limits the decoded objects that an index keeps.
const maxKept = 5000

// A group contains the documents of one namespace.
type group struct {
	listings []*listing
	unjudged atomic.Int64
}

// A listing has the documents of one key, and what lookups made of them, kept
// while the rules use it.
type listing struct {
	entries []*entry
	making  sync.Mutex // held to make one of these
	objects atomic.Pointer[[]*policies.Object]
	index   atomic.Pointer[related.Index]
	named   atomic.Pointer[map[string][]*entry]
}

// A listKey is a kind and namespace to list, in a unit or in anyUnit.
type listKey struct{ unit, kind, namespace string }

// anyUnit stands for all units.
const anyUnit = "*"

// An entry is a document, decoded on first use.
type entry struct {
	doc   *manifest.Document
	typed atomic.Pointer[policies.Object]
}

func newIndex(docs []*manifest.Document, namespace string) index {
	x := index{
		namespace: namespace, lists: map[listKey]*listing{}, entries: make(map[*manifest.Document]*entry, len(docs)),
		groups: map[string]*group{}, kept: &atomic.Int64{}, pods: map[string]*selectable{}, partial: map[string]bool{},
	}
	for _, d := range docs {
		if !policies.Known(d.APIVersion, d.Kind) {
			x.group(d, nil)
			continue
		}
		e := &entry{doc: d}
		x.group(d, e)
		x.entries[d] = e
		own := x.namespaceOf(d)
		g := x.groups[own]
		if g == nil {
			g = &group{}
			x.groups[own] = g
		}
		g.unjudged.Add(1)
		for _, at := range []listKey{{d.Unit, d.Kind, own}, {d.Unit, d.Kind, policies.Everywhere}, {anyUnit, d.Kind, own}, {anyUnit, d.Kind, policies.Everywhere}} {
			l := x.lists[at]
			if l == nil {
				l = &listing{}
				x.lists[at] = l
				if at.namespace == own {
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
		return x.decode(e, evaluator)
	}
	return nil
}

func (x index) decode(e *entry, evaluator *policies.Evaluator) *policies.Object {
	if typed := e.typed.Load(); typed != nil {
		return typed
	}
	typed := evaluator.Decode(e.doc.APIVersion, e.doc.Kind, e.doc.JSON)
	if x.kept.Load() < maxKept && e.typed.CompareAndSwap(nil, typed) {
		x.kept.Add(1)
	}
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
				if e.typed.Swap(nil) != nil {
					x.kept.Add(-1)
				}
			}
		}
	}
}

// lister finds the objects of a unit, and by their names also those of others. It
// reports that it does not see other objects of the cluster.
func (x index) lister(evaluator *policies.Evaluator, unit, file string) policies.Lister {
	return listed{x, evaluator, unit, file}
}

type listed struct {
	index
	evaluator *policies.Evaluator
	// unit and file are those of the object.
	unit, file string
}

// List implements policies.Lister.
func (l listed) List(kind, namespace string) ([]*policies.Object, string) {
	at := l.lists[listKey{l.unit, kind, cmp.Or(namespace, l.namespace)}]
	if at == nil {
		return nil, unseen
	}
	return *made(at, &at.objects, func() *[]*policies.Object {
		found := slices.AppendSeq(make([]*policies.Object, 0, len(at.entries)), l.readable(at))
		return &found
	}), unseen
}

// readable are the objects of a listing that lookups find.
func (l listed) readable(in *listing) iter.Seq[*policies.Object] {
	return func(yield func(*policies.Object) bool) {
		for _, e := range in.entries {
			if o := l.decode(e, l.evaluator); readable(o) && !yield(o) {
				return
			}
		}
	}
}

// single are the objects of a listing whose names are in one file of the unit. Files with
// an object of one name are alternatives, which nobody deploys together.
func (l listed) single(in *listing) iter.Seq[*policies.Object] {
	file, twice := map[string]string{}, map[string]bool{}
	for _, e := range in.entries {
		first, ok := file[e.doc.Name]
		file[e.doc.Name] = e.doc.File
		twice[e.doc.Name] = twice[e.doc.Name] || ok && first != e.doc.File
	}
	return func(yield func(*policies.Object) bool) {
		for o := range l.readable(in) {
			if !twice[o.Meta.Name] && !yield(o) {
				return
			}
		}
	}
}

func readable(o *policies.Object) bool { return o.Decodable() && o.Meta != nil }

// made returns a part of a listing, which one goroutine makes if it is missing.
func made[T any](l *listing, part *atomic.Pointer[T], make func() *T) *T {
	if kept := part.Load(); kept != nil {
		return kept
	}
	l.making.Lock()
	defer l.making.Unlock()
	if kept := part.Load(); kept != nil {
		return kept
	}
	one := make()
	part.Store(one)
	return one
}

// Index implements policies.Lister.
func (l listed) Index(kind, namespace string) (*related.Index, string) {
	at := l.lists[listKey{l.unit, kind, cmp.Or(namespace, l.namespace)}]
	if at == nil {
		return &related.Index{}, unseen
	}
	return made(at, &at.index, func() *related.Index {
		return policies.IndexOf(l.single(at))
	}), unseen
}

// Find implements policies.Finder. An object of another unit is found, too: a name that
// is somewhere in the files is not missing.
func (l listed) Find(kind, namespace, name string) (*policies.Object, string) {
	for _, unit := range []string{l.unit, anyUnit} {
		if found := l.find(listKey{unit, kind, cmp.Or(namespace, l.namespace)}, name); found != nil {
			return found, ""
		}
	}
	return nil, unseen
}

func (l listed) find(key listKey, name string) *policies.Object {
	for _, e := range l.namedEntries(key, name) {
		if o := l.decode(e, l.evaluator); readable(o) && o.Meta.Name == name {
			return o
		}
	}
	return nil
}

// namedEntries are the documents of a listing with a name.
func (l listed) namedEntries(key listKey, name string) []*entry {
	at := l.lists[key]
	if at == nil {
		return nil
	}
	named := *made(at, &at.named, func() *map[string][]*entry {
		named := map[string][]*entry{}
		for _, e := range at.entries {
			named[e.doc.Name] = append(named[e.doc.Name], e)
			if strings.HasSuffix(e.doc.Name, "*") { // the API server generates its name
				named[""] = append(named[""], e)
			}
		}
		return &named
	})
	return named[name]
}

// Get implements policies.Lister.
func (l listed) Get(kind, namespace, name string) (*policies.Object, string) {
	return l.Find(kind, namespace, name)
}
