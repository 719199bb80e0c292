package status

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/decision"
)

const namespacesSection = "namespaces"

// namespaces checks the levels of the namespaces.
func (c *Cluster) namespaces(ctx context.Context) []Check {
	if c.Namespace != "" {
		ns, err := c.Clients.CoreV1().Namespaces().Get(ctx, c.Namespace, metav1.GetOptions{})
		if err != nil {
			return []Check{unread(namespacesSection, "levels", "get namespaces named "+c.Namespace, err)}
		}
		return levelChecks([]corev1.Namespace{*ns}, c.scope, c.levels())
	}
	var all []corev1.Namespace
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.Clients.CoreV1().Namespaces().List(ctx, options)
		if err != nil {
			return []Check{unread(namespacesSection, "levels", "list namespaces", err)}
		}
		all = append(all, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return levelChecks(all, c.scope, c.levels())
		}
	}
}

// levelChecks counts the namespaces that usher serves by their level, and finds
// labels with invalid values.
func levelChecks(all []corev1.Namespace, serves decision.Scope, defaults config.Policies) []Check {
	counts, excluded := map[finding.Level]int{}, 0
	var invalid []string
	remedy := ""
	for i := range all {
		ns := &all[i]
		if serves.Excludes(ns.Name, ns.Labels) {
			excluded++
			continue
		}
		levels, wrong := config.FromLabels(ns.Labels, defaults)
		counts[levels.Enforce]++
		for _, w := range wrong {
			invalid = append(invalid, fmt.Sprintf("namespace %s: %v", ns.Name, w))
			if remedy == "" {
				remedy = fmt.Sprintf("kubectl label namespace %s --overwrite %s=VALUE", ns.Name, w.Key)
			}
		}
	}
	var parts []string
	for _, level := range []finding.Level{finding.Strict, finding.Baseline, finding.Invariant, finding.Off} {
		if count := counts[level]; count > 0 {
			verb := "enforce"
			if count == 1 {
				verb = "enforces"
			}
			parts = append(parts, fmt.Sprintf("%s %s %s", finding.Count(count, "namespace"), verb, level))
		}
	}
	if excluded > 0 {
		parts = append(parts, fmt.Sprintf("usher does not serve %d", excluded))
	}
	levels := Check{Section: namespacesSection, Name: "levels", State: OK, Message: strings.Join(parts, ", ")}
	labels := Check{Section: namespacesSection, Name: "labels", State: OK, Message: "all values are valid"}
	if len(invalid) > 0 {
		labels.State, labels.Message, labels.Remedy = Failed, few(invalid)+"; the default of the configuration counts", remedy
	}
	return []Check{levels, labels}
}
