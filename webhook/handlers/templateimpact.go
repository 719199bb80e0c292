package handlers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/facts/preview"
	"github.com/usher-dev/usher/injector/template"
)

// Limits of judging the workloads that an applied template selects.
const (
	templateImpactTimeout = time.Second
	templateImpactLimit   = 10_000
)

// impact warns of what a template that selects pods by itself will do to existing
// workloads. It never denies: what it cannot find out is a warning. Like the
// warnings about levels, these only count, because any client that reaches the
// port can ask; usher diff --live names the workloads with the rights of its user.
func (p *TemplateProof) impact(ctx context.Context, name string, configMap []byte) []string {
	var cm corev1.ConfigMap
	if json.Unmarshal(configMap, &cm) != nil {
		return nil // not a template that was proved
	}
	t, err := template.Parse(name, cm.Data)
	if err != nil || t.Options.Match == nil {
		return nil
	}
	world := p.Facts.World()
	matches := []*template.Match{t.Options.Match}
	if was, _ := world.Templates.Get(name); was.Template != nil {
		before := was.Template.Options.Match
		if before != nil && before.String() == t.Options.Match.String() && was.Template.Version == t.Version && was.Template.Options.Heal == t.Options.Heal {
			return nil
		}
		if before != nil {
			matches = append(matches, before)
		}
	}
	namespaces := p.Facts.Namespaces.Selected(func(name string, of map[string]string) bool {
		return !world.Scope.Excludes(name, of) && slices.ContainsFunc(matches, func(m *template.Match) bool { return m.Namespaces().Matches(labels.Set(of)) })
	})
	ctx, cancel := context.WithTimeout(ctx, templateImpactTimeout)
	defer cancel()
	survey := preview.Survey{Source: p.Facts, World: world, Objects: p.Facts.Objects, Limit: templateImpactLimit}
	found, err := survey.Run(ctx, t, namespaces, nil)
	if err != nil {
		p.Log.Error(err, "cannot determine what a template will do to existing workloads", "template", name)
		return []string{fmt.Sprintf("template %s: usher could not determine what it will do to existing workloads", name)}
	}
	var warnings []string
	for _, statement := range found.Statements() {
		warnings = append(warnings, "template "+name+": "+statement)
	}
	if found.Affected() > 0 {
		warnings[0] += "; run: usher diff --live FILE"
	}
	if len(found.Unread) > 0 {
		warnings = append(warnings, fmt.Sprintf("template %s: usher did not check every workload (only %d, within %s)", name, found.Workloads, templateImpactTimeout))
	}
	return warnings
}
