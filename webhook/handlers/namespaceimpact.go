package handlers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
)

// Limits of judging a namespace that gets a new level. The log names only some
// workloads, because any client can cause its lines.
const (
	impactTimeout = 2 * time.Second
	impactLimit   = 500
	impactRules   = 10
	impactLogged  = 20
)

// An impact is what a level would deny of the existing workloads of a
// namespace.
type impact struct {
	checked int
	denied  []string
	rules   map[string]int // workloads that each rule would deny
}

// add counts a workload.
func (i *impact) add(workload string, v *verdict.Verdict) {
	if !v.Denied {
		return
	}
	var rules []string
	for _, f := range v.Effects(verdict.Denies) {
		if !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
			i.rules[f.Rule]++
		}
	}
	i.denied = append(i.denied, fmt.Sprintf("%s (%s)", workload, strings.Join(rules, ", ")))
}

// evaluateNamespace warns about existing workloads that a level would deny,
// like Pod Security when a namespace is labelled. It counts them by rule: any
// client that reaches the port can ask, so the response names no workload. The
// names are in the log, and usher explain namespace lists them with the rights
// of its user.
func (n *NamespaceLabels) evaluateNamespace(ctx context.Context, namespace string, labels map[string]string, level finding.Level) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, impactTimeout)
	defer cancel()
	found := impact{rules: map[string]int{}}
	var unread []error
	var err error
	if found.checked, unread, err = n.Facts.JudgeWorkloads(ctx, namespace, labels, impactLimit, found.add); err != nil {
		return nil, err
	}
	if len(found.denied) > 0 {
		n.Log.Info("a level would deny existing workloads", "namespace", namespace, "level", level.String(), "denied", len(found.denied), "checked", found.checked,
			"workloads", found.denied[:min(len(found.denied), impactLogged)])
	}
	return found.warnings(namespace, level, len(unread) == 0), nil
}

// warnings describes the impact without names of workloads, beginning with the
// rules that would deny most.
func (i *impact) warnings(namespace string, level finding.Level, complete bool) []string {
	var warnings []string
	if len(i.denied) > 0 {
		warnings = append(warnings, fmt.Sprintf("existing workloads would be denied at level %q: %d of %d; run: usher explain namespace %s --enforce %s", level, len(i.denied), i.checked, namespace, level))
	}
	rules := slices.Sorted(maps.Keys(i.rules))
	slices.SortStableFunc(rules, func(a, b string) int { return i.rules[b] - i.rules[a] })
	for _, rule := range rules[:min(len(rules), impactRules)] {
		warnings = append(warnings, fmt.Sprintf("would be denied by %s: %d", rule, i.rules[rule]))
	}
	if more := len(rules) - impactRules; more > 0 {
		warnings[len(warnings)-1] += fmt.Sprintf(" (and workloads by %d more rules)", more)
	}
	if !complete {
		warnings = append(warnings, fmt.Sprintf("usher did not check every workload of the namespace (only %d, within %s)", i.checked, impactTimeout))
	}
	return warnings
}
