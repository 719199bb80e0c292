package status

import (
	"context"
	"fmt"
	"slices"

	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
)

const templatesSection = "templates"

// templates checks each template and the pods that ask for it.
func (c *Cluster) templates(ctx context.Context) []Check {
	if c.Templates == nil {
		return []Check{{
			templatesSection, "templates", Unknown, "you may not list configmaps in namespace " + c.Own,
			"ask an administrator for this right, or see with `usher explain` what a workload gets",
		}}
	}
	var checks []Check
	names := c.Templates.Names()
	if len(names) == 0 {
		checks = append(checks, Check{
			templatesSection, "templates", Warning, "namespace " + c.Own + " has no template, so no pod gets a sidecar",
			fmt.Sprintf("kubectl -n %s create configmap NAME-initializer --from-file=config=FILE, with containers in FILE; see docs/templates.md", c.Own),
		})
	}
	counts, err := drift.Count(ctx, c.Cluster, drift.Scope{Namespace: c.Namespace}, c.scope)
	if err != nil {
		checks = append(checks, unread(templatesSection, "pods", "list pods in "+c.where(), err))
	}
	for _, name := range names {
		entry, _ := c.Templates.Get(name)
		checks = append(checks, templateCheck(name, entry, counts[name], err == nil, c.Own, c.drift()))
	}
	var gone []string
	for name := range counts {
		if n := counts[name]; !slices.Contains(names, name) && n.Current+n.Outdated+n.Missing > 0 {
			gone = append(gone, name)
		}
	}
	for _, name := range sorted(gone) {
		n := counts[name]
		checks = append(checks, Check{
			templatesSection, name, Warning, fmt.Sprintf("the template does not exist; %s have it, %s ask for it in vain", finding.Count(n.Outdated, "pod"), finding.Count(n.Missing, "pod")), c.drift(),
		})
	}
	return checks
}

// templateCheck checks a template and the pods that ask for it.
func templateCheck(name string, entry injector.Entry, n drift.Counted, counted bool, own, remedy string) Check {
	if entry.Err != nil {
		return Check{
			templatesSection, name, Failed, fmt.Sprintf("invalid, so pods that ask for it are denied, or keep the last valid version: %v", entry.Err),
			fmt.Sprintf("kubectl -n %s edit configmap -l usher.dev/template=%s, or kubectl -n %s edit configmap %s-initializer", own, name, own, name),
		}
	}
	if !counted {
		return Check{Section: templatesSection, Name: name, State: OK, Message: "valid"}
	}
	check := Check{Section: templatesSection, Name: name, State: OK, Message: fmt.Sprintf("valid; %s current, %d outdated, %d missing", finding.Count(n.Current, "pod"), n.Outdated, n.Missing)}
	if n.Outdated+n.Missing > 0 {
		check.State, check.Remedy = Warning, remedy+"\n"+remedy+" --restart"
	}
	return check
}
