package kubeconfig

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/verdict"
)

// relatedTimeout limits each list of the objects that a rule compares with a
// workload.
const relatedTimeout = 30 * time.Second

// A NamespaceVerdict is what the levels of a namespace mean for its existing
// workloads.
type NamespaceVerdict struct {
	Labels map[string]string
	Levels config.Namespace
	// Invalid are labels with invalid values, which the defaults replace.
	Invalid []*config.LabelError
	// Assumed explains which facts usher could not read and assumed instead; "" if
	// it read everything.
	Assumed string
	// Checked is how many objects usher read, Unread why it did not read others.
	Checked int
	Unread  []error
}

// JudgeNamespace judges the existing workloads of a namespace without a
// controller as if they were created now, as the webhook does when the
// namespace is labelled. Assumed labels replace those of the namespace.
func (c *Cluster) JudgeNamespace(ctx context.Context, name string, assumed map[string]string, visit func(workload string, v *verdict.Verdict)) (*NamespaceVerdict, error) {
	labels, err := c.NamespaceLabels(ctx, name)
	if err != nil {
		return nil, err
	}
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, assumed)
	n := &NamespaceVerdict{Labels: labels}
	configured, templates := c.configuration, c.Templates
	if configured == nil {
		configured, templates = defaults(), injector.NewSet(nil)
		n.Assumed = fmt.Sprintf("you may not read the ConfigMaps of namespace %s, so usher assumes its default configuration and no templates", c.Own)
	}
	n.Levels, n.Invalid = config.FromLabels(labels, configured.Policies)
	evaluator, err := configured.Evaluator()
	if err != nil {
		return nil, err
	}
	facts := &verdict.Facts{
		Steps: verdict.Evaluate, Defaulted: true, Scope: c.Scope, Configuration: configured.Configuration, NamespaceLabels: labels, Levels: n.Levels,
		Templates: templates, NativeSidecars: c.NativeSidecars, Server: c.server, Evaluator: evaluator,
	}
	lister := cluster.NewLister(c, relatedTimeout)
	n.Checked, n.Unread, err = lister.JudgeWorkloads(ctx, name, math.MaxInt, facts, visit)
	return n, err
}
