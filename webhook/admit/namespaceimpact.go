package admit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies"
)

// Limits of evaluating a namespace that gets a new level.
const (
	impactTimeout = 2 * time.Second
	impactLimit   = 500
	impactNamed   = 10
)

// evaluateNamespace returns which workloads of a namespace a level would deny,
// like Pod Security when a namespace is labelled. It reports how many it did
// not check.
func (n *NamespaceLabels) evaluateNamespace(ctx context.Context, namespace string, levels config.Namespace) ([]string, error) {
	evaluator, err := n.Facts.Configuration.Current().Evaluator()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, impactTimeout)
	defer cancel()
	in := policies.Input{Server: n.Facts.Server(), Defaulted: true, Lister: n.Facts.Others.Direct(ctx, namespace)}
	var denied []string
	looked, complete := n.Facts.Others.Workloads(ctx, namespace, impactLimit, func(kind, name string, o *policies.Object) {
		if rules := wouldDeny(evaluator, o, in, levels); len(rules) > 0 {
			denied = append(denied, fmt.Sprintf("%s/%s (%s)", strings.ToLower(kind), name, strings.Join(rules, ", ")))
		}
	})
	var warnings []string
	if n := len(denied); n > 0 {
		more := ""
		if n > impactNamed {
			more = fmt.Sprintf(" and %d more", n-impactNamed)
		}
		warnings = append(warnings, fmt.Sprintf("existing workloads would be denied at level %q: %d of %d", levels.Enforce, n, looked))
		for _, line := range denied[:min(n, impactNamed)] {
			warnings = append(warnings, "would be denied: "+line)
		}
		if more != "" {
			warnings[len(warnings)-1] += more
		}
	}
	if !complete {
		warnings = append(warnings, fmt.Sprintf("usher did not check every workload of the namespace (only %d, within %s)", looked, impactTimeout))
	}
	return warnings, nil
}

// wouldDeny lists the rules that would deny the object if it were created now.
func wouldDeny(evaluator *policies.Evaluator, o *policies.Object, in policies.Input, levels config.Namespace) []string {
	var rules []string
	for _, f := range evaluator.Evaluate(o, in) {
		if levels.Enforces(f) && f.Exempt == "" && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}
