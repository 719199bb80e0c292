package history

import (
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkLinearizable searches, for each key, for an order of its operations that
// explains every answer and agrees with time.
func (v *Verdict) checkLinearizable(operations []Operation, timeout time.Duration) {
	keys := map[string][]porcupine.Operation{}
	for _, o := range operations {
		keys[o.Key] = append(keys[o.Key], porcupine.Operation{
			ClientId: o.Client, Input: o, Output: *o.Answer, Call: int64(o.Call), Return: int64(o.Return),
		})
	}
	deadline := time.Now().Add(timeout)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		// The checker treats 0 as no limit.
		left := max(time.Until(deadline), time.Nanosecond)
		switch result, info := porcupine.CheckOperationsVerbose(model, keys[key], left); result {
		case porcupine.Ok:
		case porcupine.Unknown:
			v.add("whether %s was linearizable is not known: the search did not end within %s", key, timeout)
		default:
			v.add("%s was not linearizable: %s", key, unexplained(keys[key], info))
		}
	}
}

// model is the model of one key in etcd.
var model = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(register).step(input.(Operation), output.(Answer))
	},
}

// A register is a key, and the highest observed revision.
type register struct {
	state    State
	revision int64
}

// step reports whether the operation may have that answer, and returns the next
// state of the key.
func (r register) step(o Operation, a Answer) (bool, register) {
	if a.Revision < r.revision || a.Wrote && a.Revision == r.revision {
		return false, r
	}
	if !a.Inferred && a.Found != r.state {
		return false, r
	}
	if a.Wrote != r.writes(o) {
		return false, r
	}
	r.revision = a.Revision
	switch {
	case !a.Wrote:
	case o.Kind == Delete:
		r.state = State{}
	default:
		created := r.state.Created
		if r.state.Version == 0 {
			created = a.Revision
		}
		r.state = State{Value: o.Value, Version: r.state.Version + 1, Created: created, Modified: a.Revision}
	}
	return true, r
}

// writes reports whether the operation changes the key.
func (r register) writes(o Operation) bool {
	switch o.Kind {
	case Put:
		return true
	case Swap:
		return o.Expected == r.state.Modified
	case Delete:
		return r.state.Version > 0
	default:
		return false
	}
}

// unexplained returns the first operation that the longest explanation lacks.
func unexplained(operations []porcupine.Operation, info porcupine.LinearizationInfo) string {
	explained := map[Operation]bool{}
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, l := range partition {
			if len(l) > len(longest) {
				longest = l
			}
		}
	}
	for _, o := range longest {
		explained[o.Input.(Operation)] = true
	}
	for _, o := range operations {
		if in := o.Input.(Operation); !explained[in] {
			text := in.String()
			if len(longest) > 0 {
				text += ", after " + longest[len(longest)-1].Input.(Operation).String()
			}
			return text
		}
	}
	return "no order explains its answers"
}
