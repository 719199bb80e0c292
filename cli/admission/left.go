package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// whyLabels is why a policy is not evaluated whose selectors read the labels of a
// namespace that is not known.
const whyLabels = "it selects namespaces by labels, and theirs are not in the input: add the Namespaces, or pass --namespace-labels"

// Left counts the objects that policies did not decide about.
type Left map[because]int

// Add adds what others have counted.
func (l Left) Add(others Left) {
	for b, n := range others {
		l[b] += n
	}
}

// left counts for a set of policies.
type left struct {
	mutex  sync.Mutex
	counts Left
}

// because is why a policy did not decide about an object.
type because struct {
	policy, binding string
	what            outcome
	why             string
}

// An outcome is what happened instead of a decision.
type outcome uint8

const (
	unevaluated outcome = iota
	ignored             // an expression failed, and the policy ignores that
	audited             // the binding only writes into the audit log
)

func (e *evaluation) leave(why string)      { e.count(unevaluated, why) }
func (e *evaluation) ignore(message string) { e.count(ignored, message) }
func (e *evaluation) audit()                { e.count(audited, "") }

func (e *evaluation) count(what outcome, why string) {
	b := because{policy: e.policy.Name, what: what, why: why}
	if e.binding.ValidatingAdmissionPolicyBinding != nil {
		b.binding = e.binding.Name
	}
	l := &e.left
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.counts == nil {
		l.counts = Left{}
	}
	if _, known := l.counts[b]; known || len(l.counts) < maxLeft {
		l.counts[b]++
	}
}

const (
	maxLeft  = 1000 // reasons that are counted
	maxNotes = 20   // reasons that Notes describes
)

// Left returns what the policies did not decide so far.
func (p *Policies) Left() Left {
	p.left.mutex.Lock()
	defer p.left.mutex.Unlock()
	return maps.Clone(p.left.counts)
}

// Notes describes what policies did not decide, and why, in a fixed order.
func (l Left) Notes() []string {
	all := slices.SortedFunc(maps.Keys(l), func(a, b because) int {
		return cmp.Or(cmp.Compare(a.policy, b.policy), cmp.Compare(a.binding, b.binding), cmp.Compare(a.what, b.what), cmp.Compare(a.why, b.why))
	})
	var notes []string
	for _, b := range all[:min(len(all), maxNotes)] {
		notes = append(notes, b.describe(l[b]))
	}
	if more := len(all) - len(notes); more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more reasons why usher does not evaluate ValidatingAdmissionPolicies", more))
	}
	return notes
}

func (b because) describe(n int) string {
	name := "ValidatingAdmissionPolicy " + b.policy
	if b.binding != "" {
		name += " with binding " + b.binding
	}
	times := fmt.Sprintf("%d times", n)
	if n == 1 {
		times = "once"
	}
	switch b.what {
	case ignored:
		return fmt.Sprintf("%s failed %s, and ignores failures: %s", name, times, b.why)
	case audited:
		return fmt.Sprintf("%s was violated %s, and only writes into the audit log", name, times)
	}
	return fmt.Sprintf("%s was not evaluated %s: %s", name, times, b.why)
}
