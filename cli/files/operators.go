package files

import (
	"encoding/json"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/cli/manifest"
)

// operators are the mutating webhooks among the files. The API server calls them before
// it validates, so they may set fields that an object lacks.
type operators struct {
	groups map[string]bool
	// names are those of webhooks without rules, which some operators write at run time.
	names []string
}

func newOperators(docs []*manifest.Document) operators {
	o := operators{groups: map[string]bool{}}
	for _, d := range docs {
		if d.Kind != "MutatingWebhookConfiguration" {
			continue
		}
		var c admissionregistrationv1.MutatingWebhookConfiguration
		_ = json.Unmarshal(d.JSON, &c) // Judge reports what is wrong with it
		for _, webhook := range c.Webhooks {
			if len(webhook.Rules) == 0 {
				o.names = append(o.names, webhook.Name)
			}
			for _, rule := range webhook.Rules {
				for _, group := range rule.APIGroups {
					o.groups[group] = true
				}
			}
		}
	}
	return o
}

// SetByWebhook reports whether a mutating webhook among the files may set fields of a
// custom resource: the webhook of an operator that handles the API group.
func (w *Workspace) SetByWebhook(doc *manifest.Document) bool {
	group := schema.FromAPIVersionAndKind(doc.APIVersion, doc.Kind).Group
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		return false
	}
	if w.operators.groups[group] {
		return true
	}
	for _, name := range w.operators.names {
		if strings.HasSuffix(name, "."+group) {
			return true
		}
	}
	return false
}
