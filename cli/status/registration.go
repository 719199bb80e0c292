package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
)

const registrationSection = "registration"

// configurations are the webhook configurations of usher.
type configurations struct {
	mutating   []admissionregistrationv1.MutatingWebhookConfiguration
	validating []admissionregistrationv1.ValidatingWebhookConfiguration
}

// clients are how the API server reaches each webhook.
func (c *configurations) clients() []admissionregistrationv1.WebhookClientConfig {
	var all []admissionregistrationv1.WebhookClientConfig
	for i := range c.mutating {
		for _, w := range c.mutating[i].Webhooks {
			all = append(all, w.ClientConfig)
		}
	}
	for i := range c.validating {
		for _, w := range c.validating[i].Webhooks {
			all = append(all, w.ClientConfig)
		}
	}
	return all
}

// readConfigurations reads all webhook configurations of the cluster. doing is what
// failed.
func readConfigurations(ctx context.Context, clients kubernetes.Interface) (all *configurations, doing string, err error) {
	mutating, err := clients.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, "list mutatingwebhookconfigurations", err
	}
	validating, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, "list validatingwebhookconfigurations", err
	}
	return &configurations{mutating.Items, validating.Items}, "", nil
}

// belongs selects the configurations of usher's installation in a namespace, and
// the namespaces of others.
func (c *configurations) belongs(own string) (ours *configurations, others []string) {
	ours = &configurations{}
	belongs := func(m metav1.ObjectMeta) bool {
		if m.Labels[wellknown.LabelManagedBy] != wellknown.Usher {
			return false
		}
		if wellknown.BelongsTo(own, m.Name, m.Labels) {
			return true
		}
		if other := m.Labels[wellknown.LabelNamespace]; other != "" {
			others = append(others, other)
		}
		return false
	}
	for i := range c.mutating {
		if belongs(c.mutating[i].ObjectMeta) {
			ours.mutating = append(ours.mutating, c.mutating[i])
		}
	}
	for i := range c.validating {
		if belongs(c.validating[i].ObjectMeta) {
			ours.validating = append(ours.validating, c.validating[i])
		}
	}
	return ours, sorted(others)
}

// registration checks whether the API server calls usher.
func (c *Cluster) registration(ctx context.Context) []Check {
	var checks []Check
	const name = "webhook configurations"
	if all, doing, err := readConfigurations(ctx, c.Clients); err != nil {
		checks = append(checks, unread(registrationSection, name, doing, err))
	} else {
		ours, others := all.belongs(c.Own)
		c.configurations = ours
		checks = append(checks, registered(c.Own, ours, others, c.logs("webhook")))
	}
	lease, err := c.Clients.CoordinationV1().Leases(c.Own).Get(ctx, wellknown.RegistrationLease, metav1.GetOptions{})
	checks = append(checks, c.confirmed(registrationSection, "confirmed", "webhook", wellknown.RegistrationLease, lease, err))
	if c.configurations != nil {
		checks = append(checks, c.services(ctx)...)
	}
	return checks
}

// registered checks that the installation has both configurations.
func registered(own string, ours *configurations, others []string, logs string) Check {
	check := Check{Section: registrationSection, Name: "webhook configurations"}
	elsewhere := ""
	if len(others) > 0 {
		elsewhere = "; the cluster has another installation in " + few(others)
	}
	var missing, names []string
	for kind, count := range map[string]int{"MutatingWebhookConfiguration": len(ours.mutating), "ValidatingWebhookConfiguration": len(ours.validating)} {
		if count == 0 {
			missing = append(missing, kind)
		}
	}
	missing = sorted(missing)
	if len(missing) > 0 {
		check.State = Failed
		check.Message = fmt.Sprintf("usher is not registered by an installation in namespace %s: %s missing%s", own, areMissing(missing), elsewhere)
		check.Remedy = "usher registers itself while it runs: " + logs
		if len(others) > 0 {
			check.Remedy = "to check the other installation, pass --usher-namespace " + others[0] + "\n" + check.Remedy
		}
		return check
	}
	webhooks := 0
	for i := range ours.mutating {
		names, webhooks = append(names, ours.mutating[i].Name), webhooks+len(ours.mutating[i].Webhooks)
	}
	for i := range ours.validating {
		names, webhooks = append(names, ours.validating[i].Name), webhooks+len(ours.validating[i].Webhooks)
	}
	check.State, check.Message = OK, fmt.Sprintf("%s in %s%s", finding.Count(webhooks, "webhook"), strings.Join(sorted(names), ", "), elsewhere)
	return check
}

// areMissing names what is missing, with the verb.
func areMissing(missing []string) string {
	if len(missing) == 1 {
		return "the " + missing[0] + " is"
	}
	return "the " + strings.Join(missing, " and the ") + " are"
}

// confirmed checks that a replica holds a Lease and renews it.
func (c *Cluster) confirmed(section, name, component, leaseName string, lease *coordinationv1.Lease, err error) Check {
	switch {
	case apierrors.IsNotFound(err):
		return Check{section, name, Failed, fmt.Sprintf("no replica ever held the Lease %s in namespace %s", leaseName, c.Own), c.logs(component)}
	case err != nil:
		return unread(section, name, "get leases in namespace "+c.Own, err)
	}
	state, message := held(lease, c.Now)
	remedy := ""
	if state != OK {
		remedy = c.logs(component)
	}
	return Check{section, name, state, message, remedy}
}

// held says who holds a Lease, and when it was last renewed.
func held(lease *coordinationv1.Lease, now time.Time) (State, string) {
	holder, renewed, duration := lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds
	if renewed == nil {
		return Failed, fmt.Sprintf("the Lease %s was never renewed", lease.Name)
	}
	age := now.Sub(renewed.Time)
	limit := 45 * time.Second
	if duration != nil && *duration > 0 {
		limit = 3 * time.Duration(*duration) * time.Second
	}
	by := "nobody"
	if holder != nil && *holder != "" {
		by, _, _ = strings.Cut(*holder, "_")
	}
	switch {
	case age > limit:
		return Failed, fmt.Sprintf("%s ago for the last time, by %s, which no longer renews the Lease %s", ago(age), by, lease.Name)
	case by == "nobody":
		return Warning, fmt.Sprintf("no replica holds the Lease %s, which was released %s ago", lease.Name, ago(age))
	}
	return OK, fmt.Sprintf("%s ago by %s", ago(age), by)
}

// services checks that what the API server calls exists and has endpoints.
func (c *Cluster) services(ctx context.Context) []Check {
	var checks []Check
	var seen []string
	for _, called := range c.configurations.clients() {
		const name = "Service"
		service := called.Service
		if service == nil || slices.Contains(seen, service.Namespace+"/"+service.Name) {
			continue
		}
		seen = append(seen, service.Namespace+"/"+service.Name)
		_, err := c.Clients.CoreV1().Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			checks = append(checks, Check{
				registrationSection, name, Failed, fmt.Sprintf("the webhook configurations call the Service %s/%s, which does not exist", service.Namespace, service.Name),
				"usher install | kubectl apply -f -, or upgrade the release with Helm",
			})
			continue
		}
		if err != nil {
			checks = append(checks, unread(registrationSection, name, "get services in namespace "+service.Namespace, err))
			continue
		}
		slices, err := c.Clients.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
		if err != nil {
			checks = append(checks, unread(registrationSection, name, "list endpointslices in namespace "+service.Namespace, err))
			continue
		}
		checks = append(checks, serviceEndpoints(service.Namespace, service.Name, slices.Items))
	}
	return checks
}

// serviceEndpoints checks that a Service has ready endpoints.
func serviceEndpoints(namespace, name string, slices []discoveryv1.EndpointSlice) Check {
	ready, all := 0, 0
	for i := range slices {
		for _, e := range slices[i].Endpoints {
			all++
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
	}
	check := Check{Section: registrationSection, Name: "Service", State: OK, Message: fmt.Sprintf("%s/%s has %s", namespace, name, finding.Count(ready, "ready endpoint"))}
	if ready == 0 {
		check.State = Failed
		check.Message = fmt.Sprintf("%s/%s has no ready endpoint of %d, so the API server reaches no replica", namespace, name, all)
		check.Remedy = fmt.Sprintf("kubectl -n %s get pods -l %s", namespace, componentLabel("webhook"))
	}
	return check
}
