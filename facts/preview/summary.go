package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// reasonsNamed is how many reasons of a change to name.
const reasonsNamed = 5

// A Summary counts the effects of a template.
type Summary struct {
	// Read is how many objects were read, Workloads how many of them were judged.
	Read, Workloads int
	// Namespaces are those of the affected workloads.
	Namespaces map[string]bool
	// By counts the affected workloads by their change, Keep those whose pods keep
	// values of their own, and Restarts those that options.heal restarts.
	By             map[Change]int
	Keep, Restarts int
	// Heals is true if the template exists, and options.heal is new.
	Heals bool
	// Reasons counts the denied workloads by the code of the first reason, and those
	// that do not get the template by the code of theirs.
	Reasons map[Change]map[string]int
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
	if len(e.Keeps) > 0 {
		s.Keep++
	}
	if e.Restarts {
		s.Restarts++
	}
	if e.Reason != "" {
		if s.Reasons == nil {
			s.Reasons = map[Change]map[string]int{}
		}
		if s.Reasons[e.Change] == nil {
			s.Reasons[e.Change] = map[string]int{}
		}
		s.Reasons[e.Change][e.Reason]++
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
	var healing []string
	if s.Heals {
		healing = []string{"options.heal is new, so usher also restarts the workloads whose running pods lack the template; usher drift -A lists them"}
	}
	if s.Affected() == 0 {
		return healing
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
	}{{Gets, "will get it"}, {Updates, "will get the new version"}, {Loses, "will no longer get it"}, {Skips, "will not get it"}, {Denied, "will be denied"}} {
		if n := s.By[of.change]; n > 0 {
			parts = append(parts, "of "+count(n)+" "+of.what)
		}
	}
	first := fmt.Sprintf("of %s existing workloads, the next pods %s", count(s.Workloads), strings.Join(parts, ", "))
	if s.Keep > 0 {
		first += fmt.Sprintf("; those of %s keep values of their own", count(s.Keep))
	}
	if s.Restarts > 0 {
		first += fmt.Sprintf("; options.heal will restart %s", count(s.Restarts))
	}
	statements := []string{first}
	for _, of := range []struct {
		change Change
		what   string
	}{{Skips, "will not get it for "}, {Denied, "will be denied by "}} {
		if reasons := s.reasons(of.change, count); reasons != "" {
			statements = append(statements, of.what+reasons)
		}
	}
	if requests := FormatResources(s.Requests); requests != "" {
		statements = append(statements, "the pods of all these workloads will request in addition "+requests)
	}
	return append(statements, healing...)
}

// reasons lists the codes of a change with their counts, the most frequent first.
func (s *Summary) reasons(of Change, count func(int) string) string {
	counts := s.Reasons[of]
	codes := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(codes, func(a, b string) int { return counts[b] - counts[a] })
	var items []string
	for _, code := range codes {
		items = append(items, fmt.Sprintf("%s: %s", code, count(counts[code])))
	}
	if more := len(items) - reasonsNamed; more > 0 {
		items = append(items[:reasonsNamed], fmt.Sprintf("%d more reasons", more))
	}
	return strings.Join(items, ", ")
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
