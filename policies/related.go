package policies

import (
	"fmt"
	"iter"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies/related"
)

// MaxCompared is how many other workloads a rule compares with an object.
const MaxCompared = 200

// selecting are the kinds whose pods a rule compares: their controllers keep pods
// running that a selector finds.
var selecting = kinds.Names(kinds.With(kinds.Restarts, 0))

// Selected are the workloads that a selector selects.
type Selected struct {
	// First are the kinds and names of the first workloads, in a stable order; Count
	// is the number of all.
	First []string
	Count int
	// Partial says, as a clause for a finding, that there may be more, because not all
	// were compared; else it is empty.
	Partial string
}

// WorkloadsSelected returns the other Deployments, StatefulSets and DaemonSets in
// the object's namespace whose pods a selector selects, and names the first
// ones. It compares at most MaxCompared that have the rarest label of those that the
// selector requires. An invalid selector selects nothing.
func (p *Pass) WorkloadsSelected(by *metav1.LabelSelector, named int) (s Selected) {
	if p.Lister == nil {
		return s
	}
	selector, err := related.NewSelector(by)
	if err != nil {
		return s
	}
	compared, of := 0, 0
	for _, kind := range selecting {
		index, unseen := p.Lister.Index(kind, p.Meta.Namespace)
		p.incomplete(unseen)
		c, n := index.Selected(selector, MaxCompared-compared, func(name string) {
			if kind == p.Kind && name == p.Meta.Name {
				return
			}
			if s.Count++; s.Count <= named {
				s.First = append(s.First, kind+" "+name)
			}
		})
		compared, of = compared+c, of+n
	}
	if compared < of {
		s.Partial = p.incomplete(fmt.Sprintf("usher compared only %d of %d workloads", compared, of))
	}
	return s
}

// Autoscalers returns the names of the HorizontalPodAutoscalers in the object's
// namespace that scale a workload, in a stable order.
func (p *Pass) Autoscalers(kind, name string) []string {
	if p.Lister == nil {
		return nil
	}
	index, unseen := p.Lister.Index("HorizontalPodAutoscaler", p.Meta.Namespace)
	p.incomplete(unseen)
	return index.Autoscalers(related.Target{Kind: kind, Name: name})
}

// IndexOf returns the index of workloads or autoscalers.
func IndexOf(all iter.Seq[*Object]) *related.Index {
	var objects []*related.Object
	for o := range all {
		if r := o.Related(); r != nil {
			objects = append(objects, r)
		}
	}
	return related.NewIndex(objects)
}

// Related returns what an index stores of the object, or nil if the object is
// neither a workload nor a HorizontalPodAutoscaler.
func (o *Object) Related() *related.Object {
	if o.Meta == nil {
		return nil
	}
	r := &related.Object{Name: o.Meta.Name, UID: o.Meta.UID}
	switch t := o.Typed.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		r.Scales = related.Target{Kind: t.Spec.ScaleTargetRef.Kind, Name: t.Spec.ScaleTargetRef.Name}
	case *autoscalingv1.HorizontalPodAutoscaler:
		r.Scales = related.Target{Kind: t.Spec.ScaleTargetRef.Kind, Name: t.Spec.ScaleTargetRef.Name}
	default:
		if len(o.Templates) == 0 {
			return nil
		}
		r.Pods = related.LabelsOf(o.Templates[0].Meta.Labels)
	}
	return r
}
