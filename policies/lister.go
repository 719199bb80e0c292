package policies

// A Lister finds other objects, for rules that depend on them. unseen names
// what it could not read, as a clause for a finding; unseen is empty if the
// answer is complete.
type Lister interface {
	// List returns the objects of a kind in a namespace, or in Everywhere.
	List(kind, namespace string) (found []*Object, unseen string)
	// Get returns one object, or nil if it does not exist or was not visible. Its
	// Typed is nil if only its existence is known.
	Get(kind, namespace, name string) (found *Object, unseen string)
}

// Everywhere stands for every namespace.
const Everywhere = "*"

const nothingSeen = "usher could not read other objects"

// List lists the objects of a kind in the object's namespace.
func (p *Pass) List(kind string) ([]*Object, string) {
	if p.Lister == nil {
		return nil, nothingSeen
	}
	return p.Lister.List(kind, p.Meta.Namespace)
}

// ListEverywhere lists the objects of a kind in every namespace.
func (p *Pass) ListEverywhere(kind string) ([]*Object, string) {
	if p.Lister == nil {
		return nil, nothingSeen
	}
	return p.Lister.List(kind, Everywhere)
}

// Get finds one object in the object's namespace.
func (p *Pass) Get(kind, name string) (*Object, string) {
	if p.Lister == nil {
		return nil, nothingSeen
	}
	return p.Lister.Get(kind, p.Meta.Namespace, name)
}
