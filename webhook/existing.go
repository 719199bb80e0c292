package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies"
)

// Bounds of looking at what is in a namespace that gets a new level.
const (
	existingTimeout = 2 * time.Second
	existingLimit   = 500
	existingNamed   = 10
)

// existing says which workloads of a namespace a level would deny, as Pod
// Security does when a namespace is labelled. What it did not get to it says.
func (p *Policies) existing(ctx context.Context, namespace string, levels config.Namespace) ([]string, error) {
	evaluator, err := p.Configuration.current.Load().evaluator(levels.Pin)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, existingTimeout)
	defer cancel()
	in := policies.Input{Server: p.Server(), Validated: true, Others: p.others(ctx, namespace)}
	var denied []string
	looked, complete := 0, true
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet", "Pod"} {
		l := listables()[kind]
		if looked >= existingLimit {
			complete = false
			break
		}
		if err := p.Reader.List(ctx, l.list, client.InNamespace(namespace), client.Limit(int64(existingLimit-looked))); err != nil {
			complete = false
			continue
		}
		complete = complete && l.list.GetContinue() == ""
		_ = meta.EachListItem(l.list, func(item runtime.Object) error {
			looked++
			o := item.(client.Object)
			if metav1.GetControllerOf(o) != nil {
				return nil // judged as its controller
			}
			if rules := wouldDeny(evaluator, policies.NewObject(l.apiVersion, kind, o), in, levels); len(rules) > 0 {
				denied = append(denied, fmt.Sprintf("%s/%s (%s)", strings.ToLower(kind), o.GetName(), strings.Join(rules, ", ")))
			}
			return nil
		})
	}
	var warnings []string
	if n := len(denied); n > 0 {
		more := ""
		if n > existingNamed {
			more = fmt.Sprintf(" and %d more", n-existingNamed)
		}
		warnings = append(warnings, fmt.Sprintf("existing workloads would be denied at level %q: %d of %d", levels.Enforce, n, looked))
		for _, line := range denied[:min(n, existingNamed)] {
			warnings = append(warnings, "would be denied: "+line)
		}
		if more != "" {
			warnings[len(warnings)-1] += more
		}
	}
	if !complete {
		warnings = append(warnings, fmt.Sprintf("not every workload of the namespace was looked at (%d were, within %s)", looked, existingTimeout))
	}
	return warnings, nil
}

// wouldDeny lists the rules that would deny the object if it were created now.
func wouldDeny(evaluator *policies.Evaluator, o *policies.Object, in policies.Input, levels config.Namespace) []string {
	var rules []string
	for _, f := range evaluator.Evaluate(o, in) {
		if levels.Enforce.Includes(f.Level) && f.Exempt == "" && !f.RefusedByServer && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}
