package rules

import (
	"strings"
	"sync"

	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/usher-dev/usher/policies"
)

// standards describes the Pod Security Standards.
const standards = "https://kubernetes.io/docs/concepts/security/pod-security-standards/"

// podSecurity evaluates the newest version of the standards.
var podSecurity = sync.OnceValues(func() (policy.Evaluator, error) { return policy.NewEvaluator(policy.DefaultChecks(), nil) })

// secured reports what a level of the standards forbids, in the words of its package.
func secured(p *policies.Pass, t *policies.PodTemplate, level api.Level) {
	evaluator, err := podSecurity()
	if err != nil || t.Meta == nil || t.Spec == nil {
		return // its own checks are valid, as a test verifies
	}
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, t.Meta, t.Spec) {
		if result.Allowed {
			continue
		}
		said := result.ForbiddenReason
		if result.ForbiddenDetail != "" {
			said += " (" + result.ForbiddenDetail + ")"
		}
		p.Report(t.At("spec"), nil, "the "+string(level)+" profile of Pod Security forbids "+strings.TrimSpace(said))
	}
}
