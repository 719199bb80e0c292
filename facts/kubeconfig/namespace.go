package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/verdict"
)

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
	n.Levels, n.Invalid = config.FromLabels(labels, c.world.Configuration.Policies)
	if c.Templates == nil {
		n.Assumed = fmt.Sprintf("you may not read the ConfigMaps of namespace %s, so usher assumes its default configuration and no templates", c.Own)
	}
	s := &survey{Cluster: c, labels: labels, objects: c.objects.Direct(ctx, name)}
	n.Checked, n.Unread, err = c.objects.JudgeWorkloads(ctx, s, name, verdict.All, math.MaxInt, visit)
	if s.unlisted {
		n.Unread = append(n.Unread, errors.New(unlistedNetworks(name)))
	}
	return n, err
}

// A survey is the source of facts about the objects of one namespace, with labels
// that may differ from the cluster's. The objects share the lists of other objects.
type survey struct {
	*Cluster
	labels  map[string]string
	objects policies.Lister
	// unlisted is true if an object declares Networks, which the user may not list.
	unlisted bool
}

// Gather implements facts.Source.
func (s *survey) Gather(ctx context.Context, r facts.Request) (*verdict.Facts, error) {
	known, err := s.gather(ctx, r, s.labels, s.objects)
	s.unlisted = s.unlisted || known != nil && known.Steps&verdict.Connect != r.Steps&verdict.Connect
	return known, err
}

func unlistedNetworks(namespace string) string {
	return fmt.Sprintf("usher did not read the Networks of namespace %s: you may not list them", namespace)
}
