package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// reasonsNamed is how many reasons of denials to name.
const reasonsNamed = 5

// A Summary counts the effects of a template.
type Summary struct {
	// Read is how many objects were read, Workloads how many of them were judged.
	Read, Workloads int
	// Namespaces are those of the affected workloads.
	Namespaces map[string]bool
	// By counts the affected workloads by their change, Restarts those that
	// options.heal restarts.
	By       map[Change]int
	Restarts int
	// Reasons counts the denied workloads by the code of the first reason.
	Reasons map[string]int
	// Requests are what all pods request more, or less.
	Requests corev1.ResourceList
	// Unread says why workloads were not read.
	Unread []error
}

func (s *Summary) add(e Effect) {
	if s.By == nil {
		s.By = map[Change]int{}
	}
	s.By[e.Change]++
	s.Namespaces[e.Namespace] = true
	if e.Restarts {
		s.Restarts++
	}
	if e.Change == Denied {
		s.Reasons[e.Reason]++
	}
	for name, quantity := range e.Requests {
		add(&s.Requests, name, quantity)
	}
}

// Affected is how many workloads the template affects.
func (s *Summary) Affected() int {
	n := 0
	for _, count := range s.By {
		n += count
	}
	return n
}

// Denies is true if the template denies pods that were admitted before.
func (s *Summary) Denies() bool { return s.By[Denied] > 0 }

// Statements say in clauses what the template will do, without names of workloads;
// none if it affects no workload. If workloads were not read, each count is a lower
// bound.
func (s *Summary) Statements() []string {
	if s.Affected() == 0 {
		return nil
	}
	count := func(n int) string {
		if len(s.Unread) > 0 {
			return fmt.Sprintf("more than %d", n)
		}
		return fmt.Sprint(n)
	}
	var parts []string
	for _, of := range []struct {
		change Change
		what   string
	}{{Gets, "will get it"}, {Updates, "will get the new version"}, {Loses, "will no longer get it"}, {Skips, "will not get it although they ask for it"}, {Denied, "will be denied"}} {
		if n := s.By[of.change]; n > 0 {
			parts = append(parts, "of "+count(n)+" "+of.what)
		}
	}
	first := fmt.Sprintf("of %s existing workloads, the next pods %s", count(s.Workloads), strings.Join(parts, ", "))
	if s.Restarts > 0 {
		first += fmt.Sprintf("; options.heal will restart %s", count(s.Restarts))
	}
	statements := []string{first}
	if len(s.Reasons) > 0 {
		var reasons []string
		for _, reason := range s.reasons() {
			reasons = append(reasons, fmt.Sprintf("%s: %s", reason, count(s.Reasons[reason])))
		}
		if more := len(reasons) - reasonsNamed; more > 0 {
			reasons = append(reasons[:reasonsNamed], fmt.Sprintf("%d more reasons", more))
		}
		statements = append(statements, "will be denied by "+strings.Join(reasons, ", "))
	}
	if requests := FormatResources(s.Requests); requests != "" {
		statements = append(statements, "the pods of all these workloads will request in addition "+requests)
	}
	return statements
}

// reasons are the codes of the denials, the most frequent first.
func (s *Summary) reasons() []string {
	reasons := slices.Sorted(maps.Keys(s.Reasons))
	slices.SortStableFunc(reasons, func(a, b string) int { return s.Reasons[b] - s.Reasons[a] })
	return reasons
}

// FormatResources writes resources by name; "" for none.
func FormatResources(list corev1.ResourceList) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		items = append(items, fmt.Sprintf("%s %s", name, quantity.String()))
	}
	return strings.Join(items, ", ")
}
