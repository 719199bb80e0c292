package files

import (
	"cmp"
	"sync"

	"github.com/usher-dev/usher/manifest"
	"github.com/usher-dev/usher/policies"
)

// An index finds documents by kind and namespace, and decodes each at most once.
type index struct {
	namespace string // of documents that name none
	places    map[place][]*entry
	entries   map[*manifest.Document]*entry
}

// A place is where a Lister looks.
type place struct{ kind, namespace string }

// An entry is a document, decoded when it is first looked at.
type entry struct {
	doc   *manifest.Document
	once  sync.Once
	typed *policies.Object
}

func newIndex(docs []*manifest.Document, namespace string) index {
	x := index{namespace: namespace, places: map[place][]*entry{}, entries: make(map[*manifest.Document]*entry, len(docs))}
	for _, d := range docs {
		if !policies.Known(d.APIVersion, d.Kind) {
			continue
		}
		e := &entry{doc: d}
		x.entries[d] = e
		for _, in := range []string{cmp.Or(d.Namespace, namespace), policies.Everywhere} {
			at := place{d.Kind, in}
			x.places[at] = append(x.places[at], e)
		}
	}
	return x
}

// decoded is the object of a document of a kind that rules know; else nil.
func (x index) decoded(d *manifest.Document, evaluator *policies.Evaluator) *policies.Object {
	e := x.entries[d]
	if e == nil {
		return nil
	}
	e.once.Do(func() { e.typed = evaluator.Decode(d.APIVersion, d.Kind, d.JSON) })
	return e.typed
}

// lister finds the objects among the files. What the cluster has besides is not
// seen, and it says so.
func (x index) lister(evaluator *policies.Evaluator) policies.Lister {
	return listed{x, evaluator}
}

type listed struct {
	index
	evaluator *policies.Evaluator
}

// List implements policies.Lister.
func (l listed) List(kind, namespace string) ([]*policies.Object, string) {
	var found []*policies.Object
	for _, e := range l.places[place{kind, cmp.Or(namespace, l.namespace)}] {
		if o := l.decoded(e.doc, l.evaluator); o.Decodable() && o.Meta != nil {
			found = append(found, o)
		}
	}
	return found, unseen
}

// Get implements policies.Lister.
func (l listed) Get(kind, namespace, name string) (*policies.Object, string) {
	for _, e := range l.places[place{kind, cmp.Or(namespace, l.namespace)}] {
		if e.doc.Name == name {
			return l.decoded(e.doc, l.evaluator), ""
		}
	}
	return nil, unseen
}
