package status

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
)

// existing checks what is in the cluster already: another installation, and other
// webhooks for the objects that usher decides about.
func (b *Before) existing(ctx context.Context) []Check {
	all, doing, err := readConfigurations(ctx, b.Clients)
	if err != nil {
		return []Check{unread(existingSection, "other webhooks", doing, err)}
	}
	missing := func(namespace, name string) bool {
		_, err := b.Clients.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}
	return []Check{installation(b.Own, all), otherWebhooks(b.Own, others(all), missing)}
}

// installation says whether usher is installed already.
func installation(own string, all *configurations) Check {
	check := Check{Section: existingSection, Name: "usher", State: OK, Message: "the cluster has no installation"}
	ours, others := all.belongs(own)
	if len(ours.mutating)+len(ours.validating) > 0 {
		check.State, check.Message = Warning, "usher is installed in namespace "+own+" already: this is an upgrade"
		check.Remedy = "read docs/operations.md#upgrade first; `usher status` without --pre checks the installation"
	} else if len(others) > 0 {
		check.State, check.Message = Warning, "the cluster has an installation in "+few(others)
		check.Remedy = "to upgrade it, pass --usher-namespace " + others[0] + "; for a second one, see docs/operations.md#two-installations"
	}
	return check
}

// A webhook is one of others.
type webhook struct {
	name, configuration string
	rules               []admissionregistrationv1.RuleWithOperations
	policy              admissionregistrationv1.FailurePolicyType
	client              admissionregistrationv1.WebhookClientConfig
	namespaces          *metav1.LabelSelector
}

// others lists the webhooks that are not usher's.
func others(all *configurations) []webhook {
	var found []webhook
	add := func(of metav1.ObjectMeta, w webhook, policy *admissionregistrationv1.FailurePolicyType) {
		if of.Labels[wellknown.LabelManagedBy] == wellknown.Usher {
			return
		}
		w.configuration, w.policy = of.Name, admissionregistrationv1.Fail
		if policy != nil {
			w.policy = *policy
		}
		found = append(found, w)
	}
	for i := range all.mutating {
		for _, w := range all.mutating[i].Webhooks {
			add(all.mutating[i].ObjectMeta, webhook{name: w.Name, rules: w.Rules, client: w.ClientConfig, namespaces: w.NamespaceSelector}, w.FailurePolicy)
		}
	}
	for i := range all.validating {
		for _, w := range all.validating[i].Webhooks {
			add(all.validating[i].ObjectMeta, webhook{name: w.Name, rules: w.Rules, client: w.ClientConfig, namespaces: w.NamespaceSelector}, w.FailurePolicy)
		}
	}
	return found
}

// otherWebhooks lists the webhooks that see pods or workloads. One of them that fails
// closed and calls a Service that does not exist keeps usher's pods from starting.
func otherWebhooks(own string, all []webhook, missing func(namespace, name string) bool) Check {
	check := Check{Section: existingSection, Name: "other webhooks", State: OK, Message: "none sees pods or workloads"}
	var names, broken []string
	for _, w := range all {
		if !slices.ContainsFunc(w.rules, ofWorkloads) {
			continue
		}
		names = append(names, fmt.Sprintf("%s (%s)", w.name, w.policy))
		if s := w.client.Service; w.policy == admissionregistrationv1.Fail && s != nil && selects(w.namespaces, own) && missing(s.Namespace, s.Name) {
			broken = append(broken, fmt.Sprintf("%s of %s, Service %s/%s", w.name, w.configuration, s.Namespace, s.Name))
		}
	}
	if len(names) > 0 {
		check.Message = fmt.Sprintf("%s for pods or workloads: %s", finding.Count(len(names), "webhook"), few(sorted(names)))
	}
	if len(broken) > 0 {
		check.State = Warning
		check.Message = fmt.Sprintf("the API server refuses usher's own pods, because it cannot call %s, which does not exist", few(sorted(broken)))
		check.Remedy = "install what the webhook belongs to, or delete its configuration"
	}
	return check
}

// ofWorkloads reports whether a rule selects pods or the kinds that create them.
func ofWorkloads(rule admissionregistrationv1.RuleWithOperations) bool {
	has := func(values []string, value string) bool {
		return slices.Contains(values, "*") || slices.Contains(values, value)
	}
	for group, resources := range map[string][]string{
		"": {"pods"}, "apps": {"deployments", "statefulsets", "daemonsets", "replicasets"}, "batch": {"jobs", "cronjobs"},
	} {
		for _, resource := range resources {
			if has(rule.APIGroups, group) && (has(rule.Resources, resource) || slices.Contains(rule.Resources, "*/*")) {
				return true
			}
		}
	}
	return false
}

// selects reports whether a namespace selector may select a namespace, of which only
// the name is known.
func selects(selector *metav1.LabelSelector, namespace string) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || parsed.Matches(labels.Set{corev1.LabelMetadataName: namespace})
}
