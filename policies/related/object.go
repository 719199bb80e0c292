// Package related finds the objects that rules compare with a workload: other
// workloads whose pods its selector selects, and its autoscalers. A lookup looks
// only at objects that may be an answer, and at a limited number of them, so its
// cost does not grow with the namespace.
package related

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// An Object is what an Index stores of a workload or an autoscaler.
type Object struct {
	Name string
	UID  types.UID
	// Pods are the labels of a workload's pods.
	Pods Labels
	// Scales is the workload that an autoscaler scales.
	Scales Target

	place int // in a list; 0 for objects that are ordered by name
}

// A Target is a workload that an autoscaler scales.
type Target struct{ Kind, Name string }

// compare orders the objects of an Index.
func compare(a, b *Object) int {
	return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.Name, b.Name))
}

// Labels are labels ordered by key. They need a fraction of a map's memory.
type Labels []Label

// A Label is one label.
type Label struct{ Key, Value string }

// LabelsOf returns the labels in a map.
func LabelsOf(set map[string]string) Labels {
	if len(set) == 0 {
		return nil
	}
	l := make(Labels, 0, len(set))
	for key, value := range set {
		l = append(l, Label{key, value})
	}
	slices.SortFunc(l, Label.compare)
	return l
}

func (l Label) compare(other Label) int {
	return cmp.Or(strings.Compare(l.Key, other.Key), strings.Compare(l.Value, other.Value))
}

// Lookup implements labels.Labels.
func (l Labels) Lookup(key string) (value string, exists bool) {
	for i := range l {
		if l[i].Key == key {
			return l[i].Value, true
		}
	}
	return "", false
}

// Has implements labels.Labels.
func (l Labels) Has(key string) bool {
	_, exists := l.Lookup(key)
	return exists
}

// Get implements labels.Labels.
func (l Labels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}
