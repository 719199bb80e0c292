package policies

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"
)

// A Unit is a Lister that knows what is deployed together with an object: a chart, a
// kustomization or the files of a folder. That of a cluster does not: what a request
// lacks may follow it. Objects without a namespace are found in every namespace.
type Unit interface {
	Lister
	// Whole reports whether the unit has all objects that may be meant: it is not a base
	// that others complete, it was read whole, and it has no custom resources whose
	// controllers might create others.
	Whole() bool
	// Selected are the objects of the unit whose pods a selector selects.
	Selected(by labels.Selector, namespace string) iter.Seq[*Object]
	// SelectedElsewhere reports whether there are such objects in other units.
	SelectedElsewhere(by labels.Selector, namespace string) bool
	// PodLabels returns the values of a label on the pods of the unit, in order.
	PodLabels(key string) []string
	// Named returns the objects of a name that certainly belong to the object, or else
	// those of the unit, or else those of others. Files may have alternatives.
	Named(kind, namespace, name string) []*Object
	// Has reports whether an object of a kind certainly belongs to the object, and HasPods
	// whether one with pods does: it is in the same chart or kustomization, or the same
	// file. The files of a folder may have nothing to do with each other.
	Has(kind string) bool
	HasPods() bool
	// Names returns the names of the unit's objects of a kind.
	Names(kind string) []string
}

// Unit returns what is deployed together with the object, or nil if that is not known.
func (p *Pass) Unit() Unit {
	u, _ := p.Lister.(Unit)
	return u
}

// Whole returns the unit of the object if it is whole, else nil.
func (p *Pass) Whole() Unit {
	if u := p.Unit(); u != nil && u.Whole() {
		return u
	}
	return nil
}
