package policies

import "github.com/usher-dev/usher/policies/related"

// A Lister finds other objects, for rules that depend on them. unseen names
// what it could not read, as a clause for a finding; unseen is empty if the
// answer is complete.
type Lister interface {
	// List returns the objects of a kind in a namespace, or in Everywhere.
	List(kind, namespace string) (found []*Object, unseen string)
	// Index returns the index of the objects of a kind in a namespace. It is for the
	// kinds that rules compare with every workload, which there are too many to list.
	Index(kind, namespace string) (x *related.Index, unseen string)
	// Get returns one object, or nil if it does not exist or was not visible. Its
	// Typed is nil if only its existence is known.
	Get(kind, namespace, name string) (found *Object, unseen string)
}

// A Finder is a Lister with many objects that finds one without a look at the
// others.
type Finder interface {
	// Find returns the first object of a name that List would return, or nil.
	Find(kind, namespace, name string) (found *Object, unseen string)
}

// Everywhere stands for every namespace.
const Everywhere = "*"

const nothingSeen = "usher could not read other objects"

// List lists the objects of a kind in the object's namespace.
func (p *Pass) List(kind string) ([]*Object, string) {
	return p.list(kind, p.Meta.Namespace)
}

// ListEverywhere lists the objects of a kind in every namespace.
func (p *Pass) ListEverywhere(kind string) ([]*Object, string) {
	return p.list(kind, Everywhere)
}

func (p *Pass) list(kind, namespace string) ([]*Object, string) {
	if p.Lister == nil {
		return nil, nothingSeen
	}
	found, unseen := p.Lister.List(kind, namespace)
	return found, p.incomplete(unseen)
}

// Find finds one whole object in the object's namespace, which List would list.
func (p *Pass) Find(kind, name string) (*Object, string) {
	if f, ok := p.Lister.(Finder); ok {
		found, unseen := f.Find(kind, p.Meta.Namespace, name)
		return found, p.incomplete(unseen)
	}
	list, unseen := p.List(kind)
	for _, o := range list {
		if p.Ended() {
			break
		}
		if o.Meta.Name == name {
			return o, ""
		}
	}
	return nil, unseen
}

// Get finds one object in the object's namespace, of which it may know only that it
// exists.
func (p *Pass) Get(kind, name string) (*Object, string) {
	if p.Lister == nil {
		return nil, nothingSeen
	}
	found, unseen := p.Lister.Get(kind, p.Meta.Namespace, name)
	return found, p.incomplete(unseen)
}

// incomplete records what a rule could not see: it may find less.
func (p *Pass) incomplete(unseen string) string {
	if unseen != "" && p.Incomplete != nil {
		p.Incomplete(unseen)
	}
	return unseen
}
