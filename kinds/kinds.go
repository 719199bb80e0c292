// Package kinds knows the kinds that usher decides about or reads, and what is
// true of each. Code that depends on a kind asks this package, so that a new kind
// is a row of the table.
package kinds

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// A Trait is something that is true of some kinds.
type Trait uint16

// The traits.
const (
	// Pods: an object is a pod or has a pod template.
	Pods Trait = 1 << iota
	// Creates: a controller creates pods from the template.
	Creates
	// PropagatesOptIn: usher carries opt-ins on the object's own metadata into the template.
	PropagatesOptIn
	// Fixed: the template is immutable, or another object's controller writes it.
	Fixed
	// Runs: the controller keeps its pods running.
	Runs
	// Ends: the pods run to completion.
	Ends
	// Restarts: "kubectl rollout restart" replaces the pods.
	Restarts
	// Listed: rules and predictions read the other objects of the kind.
	Listed
)

// A Kind is a row of the table.
type Kind struct {
	APIVersion, Name string
	// Resource is the API server's name of the kind, Short are kubectl's.
	Resource string
	Short    []string

	traits Trait
	// template is the path of the pod template; empty for a Pod, which is its own.
	template []string
	// replicas is the path of the field that a Scale sets; nil if usher is not asked
	// about the kind's Scale.
	replicas     []string
	object, list runtime.Object
}

// Is reports whether the kind has all of some traits; a nil Kind has none.
func (k *Kind) Is(traits Trait) bool { return k != nil && k.traits&traits == traits }

// Template returns the path of the pod template in an object, which the caller
// must not change: nil for a pod, and for a kind without a template.
func (k *Kind) Template() []string {
	if k == nil {
		return nil
	}
	return k.template
}

// Replicas returns the path of the field that a Scale of the kind sets, which the
// caller must not change; nil if usher is not asked about the kind's Scale.
func (k *Kind) Replicas() []string { return k.replicas }

// Group returns the kind's API group, "" for the core group.
func (k *Kind) Group() string {
	if group, _, named := strings.Cut(k.APIVersion, "/"); named {
		return group
	}
	return ""
}

// New returns an empty object of the kind.
func (k *Kind) New() runtime.Object { return k.object.DeepCopyObject() }

// NewList returns an empty list of objects of the kind, which must be Listed or
// PropagatesOptIn.
func (k *Kind) NewList() runtime.Object { return k.list.DeepCopyObject() }

// byName are the rows by the name of the kind; the version that usher reads is the
// first.
var byName = func() map[string][]*Kind {
	rows := make(map[string][]*Kind, len(table))
	for i := range table {
		rows[table[i].Name] = append(rows[table[i].Name], &table[i])
	}
	return rows
}()

// Find returns a kind by its version and name; nil if the table does not have it.
// Other API groups have kinds of the same names.
func Find(apiVersion, kind string) *Kind {
	for _, k := range byName[kind] {
		if k.APIVersion == apiVersion {
			return k
		}
	}
	return nil
}

// Named returns a kind by its name alone, in the version that usher reads; nil if
// the table does not have it.
func Named(kind string) *Kind {
	if rows := byName[kind]; len(rows) > 0 {
		return rows[0]
	}
	return nil
}

// With returns the kinds that have all of some traits and none of others, in the
// order of the table.
func With(all, none Trait) []*Kind {
	var found []*Kind
	for i := range table {
		if k := &table[i]; k.traits&all == all && k.traits&none == 0 {
			found = append(found, k)
		}
	}
	return found
}

// Scaled returns the kind of a resource about whose Scale usher is asked, else nil.
func Scaled(resource string) *Kind {
	i := slices.IndexFunc(table, func(k Kind) bool { return k.Resource == resource && k.replicas != nil })
	if i < 0 {
		return nil
	}
	return &table[i]
}

// Names returns the names of kinds.
func Names(kinds []*Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}
