package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// namespace judges usher's labels on a Namespace. On UPDATE only a new or
// changed label can deny: other labels may be older than usher.
func (j *judging) namespace() error {
	j.setting = reason.TemplateValid
	labels, other := Labels(j.object.JSON)
	before, _ := Labels(j.oldJSON())
	changed := func(key string) bool {
		value, had := before[key]
		return !had || value != labels[key]
	}
	refuse := func(key, message string) {
		j.refuse(ruledocs.NamespaceLabel, reason.BadValue, finding.Finding{
			Field: "metadata.labels[" + key + "]", Value: labels[key], Message: message})
	}
	for _, key := range slices.Sorted(maps.Keys(other)) {
		refuse(key, fmt.Sprintf(`is %s, which is not a string: put the value in quotes, as in "off"`, other[key]))
		j.Findings[len(j.Findings)-1].Value = other[key]
	}
	_, errs := config.FromLabels(labels, j.facts.Configuration.Policies)
	for _, err := range errs {
		if changed(err.Key) {
			refuse(err.Key, err.Err.Error())
		}
	}
	if value, ok := labels[wellknown.OwnNetwork]; ok && value != "true" && value != "false" && changed(wellknown.OwnNetwork) {
		refuse(wellknown.OwnNetwork, fmt.Sprintf(`is %q; write "true" or "false"`, value))
	}
	if value, ok := labels[wellknown.LabelTemplates]; ok && changed(wellknown.LabelTemplates) {
		j.askedTemplates(value)
	}
	if value, ok := labels[wellknown.LabelRevisions]; ok && changed(wellknown.LabelRevisions) {
		j.pickedRevisions(value)
	}
	return nil
}

// pickedRevisions warns about revisions that the namespace selects but that do
// not exist or are invalid.
func (j *judging) pickedRevisions(value string) {
	const key = wellknown.LabelRevisions
	field := "metadata.labels[" + key + "]"
	picked, err := template.PickedRevisions(value)
	if err != nil {
		j.remark(ruledocs.NamespaceLabel, reason.BadValue, finding.Baseline, field, fmt.Sprintf(
			"label %s %s; the namespace's pods are denied until it is corrected", key, err))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(picked)) {
		revision := picked[name]
		if _, known := j.facts.Templates.Get(template.RevisionName(name, revision)); known || revision == template.DefaultRevision {
			continue
		}
		j.need(MissingTemplates, template.RevisionName(name, revision))
		message := fmt.Sprintf("label %s selects the revision %q of the template %q, which does not exist", key, revision, name)
		if j.facts.UnseenTemplates != "" {
			message += " (" + j.facts.UnseenTemplates + ")"
		}
		j.remark(ruledocs.NamespaceLabel, reason.TemplateMissing, finding.Baseline, field, message+"; the namespace's pods that ask for it are denied until it does")
	}
}

// askedTemplates warns about templates that the namespace asks for but that do
// not exist or are invalid: its pods are denied.
func (j *judging) askedTemplates(value string) {
	field, unseen := "metadata.labels["+wellknown.LabelTemplates+"]", ""
	if j.facts.UnseenTemplates != "" {
		unseen = " (" + j.facts.UnseenTemplates + ")"
	}
	for name := range strings.SplitSeq(value, ".") {
		if wrong := template.ValidateName(name); wrong != "" {
			j.remark(ruledocs.NamespaceLabel, reason.BadValue, finding.Baseline, field, fmt.Sprintf(
				"label %s: write names of templates separated by dots; %q %s; the namespace's pods are denied until it is corrected", wellknown.LabelTemplates, name, wrong))
			continue
		}
		if _, known := j.facts.Templates.Get(name); !known {
			j.need(MissingTemplates, name)
			j.remark(ruledocs.NamespaceLabel, reason.TemplateMissing, finding.Baseline, field, fmt.Sprintf(
				"label %s asks for the template %q, which does not exist%s; the namespace's pods are denied until it does", wellknown.LabelTemplates, name, unseen))
		}
	}
}

// Labels returns the labels of a Namespace whose values are strings, and
// usher's own labels among the others. YAML reads an unquoted off as a boolean,
// and the API server then refuses the Namespace.
func Labels(namespace []byte) (labels map[string]string, other map[string]string) {
	var object struct {
		Metadata struct {
			Labels map[string]jsontext.Value `json:"labels"`
		} `json:"metadata"`
	}
	labels, other = map[string]string{}, map[string]string{}
	if len(namespace) == 0 || json.Unmarshal(namespace, &object) != nil {
		return labels, other
	}
	for key, value := range object.Metadata.Labels {
		var text string
		switch {
		case json.Unmarshal(value, &text) == nil:
			labels[key] = text
		case config.IsLabel(key) || key == wellknown.LabelTemplates || key == wellknown.LabelRevisions || key == wellknown.OwnNetwork:
			other[key] = string(value)
		}
	}
	return labels, other
}
