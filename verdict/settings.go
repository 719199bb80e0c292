package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// Some objects are usher's own settings: a template, the configuration, and the
// labels of a Namespace. usher judges them when they are applied, so that a
// mistake shows there and not when the first pod is denied.

// settings returns the step that judges the object if it is one of them.
func (j *judging) settings() func() error {
	switch o := &j.object; {
	case o.APIVersion != "v1", j.facts.Steps == Validate:
	case o.Kind == "Namespace":
		return j.namespace
	case o.Kind == "ConfigMap" && o.Namespace == j.facts.Scope.ReleaseNamespace && o.Name == config.ConfigMapName:
		return j.configuration
	case o.Kind == "ConfigMap" && o.Namespace == j.facts.Scope.ReleaseNamespace:
		return j.template
	}
	return nil
}

// refuse adds an error of a setting.
func (j *judging) refuse(rule string, r reason.Reason, problems ...finding.Finding) {
	for _, p := range problems {
		p.Rule, p.Reason, p.Level = rule, cmp.Or(p.Reason, r), finding.Invariant
		j.Findings = append(j.Findings, Finding{Finding: p, Source: FromSettings, Effect: Denies})
	}
}

// remark adds a warning about a setting.
func (j *judging) remark(rule string, r reason.Reason, level finding.Level, field, message string) {
	f := finding.Finding{Rule: rule, Reason: r, Level: level, Field: field, Message: message}
	j.Findings = append(j.Findings, Finding{Finding: f, Source: FromSettings, Effect: Warns})
}

// configMap decodes the relevant part of a ConfigMap. The API server refuses a
// value that is not a string; usher names it because it is an easy mistake in
// YAML.
func (j *judging) configMap() (cm corev1.ConfigMap, ok bool) {
	var raw struct {
		Metadata struct {
			Labels map[string]jsontext.Value `json:"labels"`
		} `json:"metadata"`
		Data map[string]jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(j.object.JSON, &raw); err != nil {
		j.refuse(ruledocs.TemplateInvalid, reason.Undecodable, finding.Finding{Message: "the ConfigMap cannot be decoded: " + err.Error()})
		return cm, false
	}
	cm.Name, cm.Labels, cm.Data = j.object.Name, map[string]string{}, map[string]string{}
	ok = true
	for key, value := range raw.Data {
		var text string
		if json.Unmarshal(value, &text) != nil {
			j.refuse(ruledocs.TemplateInvalid, reason.TemplateInvalid, finding.Finding{Field: "data." + key,
				Message: "is not a string: write it as a block of text, after " + key + ": |"})
			ok = false
			continue
		}
		cm.Data[key] = text
	}
	for _, key := range template.LabelKeys() {
		var label string
		if json.Unmarshal(raw.Metadata.Labels[key], &label) == nil {
			cm.Labels[key] = label
		}
	}
	return cm, ok
}

// template tries a template on a corpus of pods. A surface with an API server
// validates v.Proof with it afterwards.
func (j *judging) template() error {
	j.setting = reason.TemplateValid
	cm, ok := j.configMap()
	name := template.NameOf(cm.Name, cm.Labels)
	if name == "" {
		j.Findings = nil // not a template, so usher has nothing to judge
		return nil
	}
	if _, read := cm.Data[template.ConfigKey]; !ok && !read {
		return nil
	}
	if holder, ok := j.facts.Templates.Get(name); ok && holder.ConfigMap != "" && holder.ConfigMap != cm.Name {
		j.refuse(ruledocs.TemplateInvalid, reason.TemplateInvalid, finding.Finding{Field: "metadata.name", Message: fmt.Sprintf(
			"is %s, and the ConfigMap %s already holds the template %q: delete one of them, or rename the template", cm.Name, holder.ConfigMap, name)})
	}
	if cm.Labels[wellknown.LabelRevisionOf] != "" && template.LooksLike(cm.Name, cm.Labels) {
		j.refuse(ruledocs.TemplateInvalid, reason.TemplateInvalid, finding.Finding{Field: "metadata.name", Message: fmt.Sprintf(
			"is %s of a revision: releases of usher without revisions take a ConfigMap named <template>%s or labelled %s for a template; rename it and remove that label",
			cm.Name, template.NameSuffix, wellknown.LabelTemplate)})
	}
	t, err := template.Parse(name, cm.Data)
	var invalid *template.InvalidError
	if errors.As(err, &invalid) {
		j.refuse(ruledocs.TemplateInvalid, reason.TemplateInvalid, invalid.Problems...)
	}
	if j.refused() {
		return nil
	}
	if j.Proof, err = injector.Prove(t); err != nil {
		return fmt.Errorf("proving the template %s: %w", name, err)
	}
	if len(j.Proof.Problems) > 0 {
		for _, p := range j.Proof.Problems {
			j.refuse(ruledocs.TemplateInvalid, p.Reason, finding.Finding{Field: configField, Message: p.Statement()})
		}
		return nil
	}
	if !j.after(t) {
		return nil
	}
	for _, effect := range j.Proof.Effects {
		j.remark(ruledocs.TemplateEffect, "", finding.Strict, configField, "template "+name+": "+effect)
	}
	for _, v := range t.UndefinedVariables() {
		j.remark(ruledocs.TemplateEffect, "", finding.Baseline, v.Field, fmt.Sprintf(
			"template %s: $(%s) stays as it is, because the container %s has no variable of that name; define it under env, or write $$(%s) for the literal text",
			name, v.Name, v.Container, v.Name))
	}
	for _, order := range t.StartOrder() {
		j.remark(ruledocs.TemplateStartOrder, "", finding.Baseline, configField, "template "+name+": "+order)
	}
	for _, wide := range t.Options.Tolerate.Wide() {
		j.remark(ruledocs.TemplateEffect, "", finding.Baseline, "data.options", "template "+name+": options.tolerate "+wide)
	}
	for _, c := range t.Credentials() {
		j.remark(ruledocs.TemplateCredential, "", finding.Baseline, c.Field, fmt.Sprintf(
			"template %s: %s; refer to a Secret with valueFrom.secretKeyRef instead", name, c.Statement))
	}
	for _, conflict := range j.facts.Templates.With(t).Conflicts(t.Name) {
		j.remark(ruledocs.TemplateConflict, "", finding.Baseline, configField, conflict)
	}
	for _, chain := range j.facts.Templates.EndsItself(t) {
		j.remark(ruledocs.MatchEndsItself, "", finding.Baseline, "data."+template.OptionsKey, chain)
	}
	return nil
}

// after judges options.after, and reports whether the template can be applied. A
// source that cannot see every template only warns of a name that it does not know.
func (j *judging) after(t *template.Template) bool {
	unknown, cycle := j.facts.Templates.CheckAfter(t)
	for _, name := range unknown {
		message := fmt.Sprintf("names the template %q, which does not exist; %s", name, j.facts.Templates.Known(name))
		if what := j.facts.UnseenTemplates; what != "" {
			j.remark(ruledocs.TemplateEffect, "", finding.Baseline, injector.AfterField, message+" ("+what+")")
			continue
		}
		j.refuse(ruledocs.TemplateInvalid, reason.TemplateInvalid, finding.Finding{Field: injector.AfterField, Message: message})
	}
	if cycle != nil {
		j.refuse(ruledocs.TemplateInvalid, reason.TemplateInvalid, *cycle)
	}
	return !j.refused()
}

// refused reports whether the setting has an error.
func (j *judging) refused() bool {
	return slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Effect == Denies })
}

// configField is the field of a ConfigMap that contains a template.
const configField = "data." + template.ConfigKey

// configuration reads usher's own configuration as it is read on loading.
func (j *judging) configuration() error {
	j.setting = reason.ConfigurationValid
	cm, ok := j.configMap()
	text, set := cm.Data[config.ConfigMapKey]
	if !ok {
		return nil
	}
	if !set {
		j.refuse(ruledocs.ConfigurationInvalid, reason.ConfigurationInvalid, finding.Finding{
			Field: "data", Message: "has no key " + config.ConfigMapKey + ": write the configuration under it"})
		return nil
	}
	if _, err := config.Parse([]byte(text)); err != nil {
		j.refuse(ruledocs.ConfigurationInvalid, reason.ConfigurationInvalid, finding.Finding{
			Field: "data." + config.ConfigMapKey, Message: strings.ReplaceAll(err.Error(), "\n", "; ")})
	}
	return nil
}
