package related

import (
	"slices"
	"sync"
)

// An Index contains the objects of one kind in one namespace. It finds workloads
// by the labels of their pods, and autoscalers by their target. It is safe for
// concurrent use; the zero Index is empty, and orders objects by name.
type Index struct {
	mu       sync.RWMutex
	all      []*Object
	labelled map[Label][]*Object
	scaling  map[Target][]*Object
}

// NewIndex returns an Index of a list. It keeps the order of the list, in which
// names may occur repeatedly. Put and Delete are for other Indexes.
func NewIndex(list []*Object) *Index {
	x := &Index{}
	for i, o := range list {
		o.place = i
		x.add(o)
	}
	return x
}

// Put adds an object, in place of the one with its name.
func (x *Index) Put(o *Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(o.Name)
	x.add(o)
}

// Delete removes the object of a name, and reports whether the Index is empty.
func (x *Index) Delete(name string) (empty bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(name)
	return len(x.all) == 0
}

// Named returns the object of a name, or nil.
func (x *Index) Named(name string) *Object {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i, found := slices.BinarySearchFunc(x.all, &Object{Name: name}, compare); found {
		return x.all[i]
	}
	return nil
}

func (x *Index) add(o *Object) {
	x.all = inserted(x.all, o)
	for _, label := range o.Pods {
		if x.labelled == nil {
			x.labelled = map[Label][]*Object{}
		}
		x.labelled[label] = inserted(x.labelled[label], o)
	}
	if o.Scales != (Target{}) {
		if x.scaling == nil {
			x.scaling = map[Target][]*Object{}
		}
		x.scaling[o.Scales] = inserted(x.scaling[o.Scales], o)
	}
}

func (x *Index) remove(name string) {
	i, found := slices.BinarySearchFunc(x.all, &Object{Name: name}, compare)
	if !found {
		return
	}
	o := x.all[i]
	x.all = slices.Delete(x.all, i, i+1)
	for _, label := range o.Pods {
		removeFrom(x.labelled, label, o)
	}
	removeFrom(x.scaling, o.Scales, o)
}

// inserted returns an ordered list with one object more. Lists arrive in order,
// so the object's place is mostly the end.
func inserted(list []*Object, o *Object) []*Object {
	if len(list) == 0 || compare(list[len(list)-1], o) < 0 {
		return append(list, o)
	}
	i, _ := slices.BinarySearchFunc(list, o, compare)
	return slices.Insert(list, i, o)
}

func removeFrom[Key comparable](lists map[Key][]*Object, key Key, o *Object) {
	list := lists[key]
	i, found := slices.BinarySearchFunc(list, o, compare)
	if !found {
		return
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(lists, key)
		return
	}
	lists[key] = list
}

// Autoscalers returns the names of the autoscalers of a workload, in order.
func (x *Index) Autoscalers(of Target) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var names []string
	for _, o := range x.scaling[of] {
		names = append(names, o.Name)
	}
	return names
}

// Selected calls visit with the name of each workload whose pods a selector
// selects, in order. It compares the first workloads, in order, that have the
// rarest label of those that the selector requires, but no more than a limit.
// compared is their number, of how many there are without the limit. visit must
// not change the Index.
func (x *Index) Selected(by *Selector, limit int, visit func(name string)) (compared, of int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	candidates, of := x.candidates(by, limit)
	for _, o := range candidates {
		if by.Matches(&o.Pods) {
			visit(o.Name)
		}
	}
	return len(candidates), of
}

// candidates returns the first workloads, up to a limit, that have one of the
// labels that one requirement of a selector accepts; of is how many have one.
func (x *Index) candidates(by *Selector, limit int) (first []*Object, of int) {
	var rarest []Label
	of = len(x.all)
	for _, accepted := range by.required {
		n := 0
		for i := range accepted {
			n += len(x.labelled[accepted[i]])
		}
		// Of equally rare ones always the same, so that a result cut off at the limit
		// does not vary.
		if n < of || n == of && (rarest == nil || slices.CompareFunc(accepted, rarest, Label.compare) < 0) {
			rarest, of = accepted, n
		}
	}
	switch len(rarest) {
	case 0:
		first = x.all
	case 1:
		first = x.labelled[rarest[0]]
	default:
		for _, label := range rarest {
			list := x.labelled[label]
			first = append(first, list[:min(limit, len(list))]...)
		}
		slices.SortFunc(first, compare)
	}
	return first[:min(limit, len(first))], of
}
