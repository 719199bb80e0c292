package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/policies/servererrors"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/yaml/position"
)

// judging is a Run in progress.
type judging struct {
	*Run
	workspaces map[string]*files.Workspace // by zone
	catalog    map[string]ruledocs.Entry
}

// in returns the facts about a document.
func (j *judging) in(d *manifest.Document) *files.Workspace { return j.workspaces[d.Zone] }

// add reports a finding, if the user asked for it.
func (j *judging) add(f *judged, doc *manifest.Document, v *verdict.Verdict, found verdict.Finding) {
	switch {
	case found.Reason == reason.TemplateMissing && len(j.in(doc).Templates.Names()) == 0:
		f.missing.templates++
		return
	case found.Reason == reason.NetworkMissing && found.Source == verdict.FromInjection && !j.in(doc).HasNetworks(doc):
		f.missing.networks++
		return
	case found.Reason == reason.Undecodable && found.Source == verdict.FromInjection && undecodable(v, found.Field):
		return // the API server's own words follow
	}
	reported, fails := j.weigh(found)
	unasked := !reported && !fails
	if unasked && (j.Known == nil || !j.Selects(found.Rule)) {
		return
	}
	r := report.Finding{
		Finding: found.Finding, File: doc.File, Kind: doc.Kind, Namespace: doc.Namespace, Name: doc.Name, Effect: found.Effect.String(), Fails: fails,
	}
	if found.Source == verdict.FromServer {
		r.Message = served(found.Finding)
	}
	if found.Source == verdict.FromInjection || found.Source == verdict.FromSettings {
		e := j.catalog[r.Rule]
		r.Harm, r.Fix = e.Harm, e.Fix
		if r.Message = sentence(found.Finding); found.Rule == ruledocs.NamespaceLabel && found.Effect == verdict.Denies {
			r.Message = lastStep(found.Field) + ": " + found.Message
		}
		if r.Field == "" {
			r.Field = askedAt(v, found)
		}
	}
	if doc.Rendered != nil {
		r.Unit = doc.Unit
	}
	if f.prints != nil {
		r.Fingerprint = f.prints.of(doc, &r)
	}
	if unasked {
		f.unasked = append(f.unasked, r)
		return
	}
	r.Line, r.Column = place(doc, found.Finding, r.Field)
	j.excerpt(doc, &r)
	f.findings = append(f.findings, r)
}

// undecodable reports whether the API server does not decode a field either.
func undecodable(v *verdict.Verdict, field string) bool {
	return slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool {
		return f.Rule == servererrors.Undecodable && f.Field == field
	})
}

// excerpt adds the lines around a finding, if they were requested.
func (j *judging) excerpt(doc *manifest.Document, f *report.Finding) {
	if j.Excerpts {
		f.Source = doc.Excerpt(f.Line, f.Column)
	}
}

// weigh decides whether a finding is reported, and whether it fails the check.
// The verdict has applied the levels of the namespace; a flag overrides them.
func (j *judging) weigh(f verdict.Finding) (reported, fails bool) {
	if !j.Selects(f.Rule) {
		return false, false
	}
	reported, fails = f.Effect != verdict.None, f.Effect >= verdict.DeniesPods
	if j.Report != nil {
		reported = j.Report.Includes(f.Level)
	}
	if j.FailOn != nil {
		fails = f.Exempt == "" && j.FailOn.Includes(f.Level)
	}
	return reported, fails
}

// Selects reports whether the user selected a rule.
func (r *Run) Selects(rule string) bool {
	return (len(r.Only) == 0 || slices.Contains(r.Only, rule)) && !slices.Contains(r.Exclude, rule)
}

// dropKnown removes the findings that were accepted before, and counts them.
func (j *judging) dropKnown(f *judged) (known int) {
	if j.Known == nil {
		return 0
	}
	for _, found := range f.unasked {
		j.Known(found, false)
	}
	before := len(f.findings)
	f.findings = slices.DeleteFunc(f.findings, func(found report.Finding) bool { return j.Known(found, true) })
	return before - len(f.findings)
}

// place returns the line and the column of a finding: for a field of a
// template, inside the block of text.
func place(doc *manifest.Document, f finding.Finding, field string) (line, column int) {
	for _, key := range []string{template.ConfigKey, template.OptionsKey} {
		path, ok := strings.CutPrefix(field, "data."+key)
		if !ok || f.Line == 0 || path != "" && path[0] != '.' {
			continue
		}
		first, indent, ok := doc.Block("data." + key)
		if !ok {
			break
		}
		column = 1
		if path = strings.TrimPrefix(path, "."); path != "" {
			var configMap struct {
				Data map[string]any `json:"data"`
			}
			_ = json.Unmarshal(doc.JSON, &configMap) // Judge has already decoded it
			text, _ := configMap.Data[key].(string)
			_, column = position.New([]byte(text), 1).Of(path)
		}
		return first + f.Line - 1, indent + column
	}
	return located(doc, field)
}

// located returns the line and the column of a field: those of the kind, or the first
// ones, if a rendered document does not tell.
func located(doc *manifest.Document, field string) (line, column int) {
	for _, field := range []string{field, "kind"} {
		if line, column = doc.Position(field); line > 0 {
			return line, column
		}
	}
	return 1, 1
}

// askedAt returns the annotation that asked for the template of a finding, or
// "".
func askedAt(v *verdict.Verdict, f verdict.Finding) string {
	if v.Injection == nil || f.Source != verdict.FromInjection {
		return ""
	}
	about := func(o decision.Outcome) bool {
		return o.Reason == f.Reason && strings.HasPrefix(f.Message, o.Detail)
	}
	i := slices.IndexFunc(v.Injection.Outcomes, about)
	if i < 0 {
		return ""
	}
	key, ok := strings.CutPrefix(v.Injection.Outcomes[i].Source, "annotation ")
	if !ok {
		return ""
	}
	if v.Decoded.Typed != nil {
		for _, t := range v.Decoded.Typed.Templates {
			if _, has := t.Meta.Annotations[key]; has {
				return t.At("metadata", "annotations").Key(key).String()
			}
		}
	}
	return "metadata.annotations[" + key + "]"
}

// served formats the API server's message after its field.
func served(f finding.Finding) string {
	if f.Field == "" || strings.Contains(f.Message, f.Field) || strings.Contains(f.Message, ", added by the template ") {
		return f.Message
	}
	if said := sentence(f); said != f.Message {
		return said
	}
	return f.Field + ": " + f.Message
}

// sentence formats a finding of injection as a sentence about its field.
func sentence(f finding.Finding) string {
	verb, _, _ := strings.Cut(f.Message, " ")
	if f.Field == "" || !slices.Contains([]string{"is", "has", "names", "claims", "must"}, verb) {
		return f.Message
	}
	return lastStep(f.Field) + " " + f.Message
}

// lastStep returns the name of a field in a message: containers[0], image, or a
// key.
func lastStep(field string) string {
	if open := strings.LastIndexByte(field, '['); open >= 0 && strings.HasSuffix(field, "]") {
		if key := field[open+1 : len(field)-1]; strings.ContainsAny(key, "./") {
			return key
		}
		return field[strings.LastIndexByte(field[:open], '.')+1:]
	}
	return field[strings.LastIndexByte(field, '.')+1:]
}

// duplicate returns the finding for a field that occurs twice.
func duplicate(d manifest.Duplicate) verdict.Finding {
	r := servererrors.Lookup(servererrors.DuplicateField)
	return verdict.Finding{Source: verdict.FromServer, Effect: verdict.Denies, Finding: finding.Finding{
		Rule: r.ID, Level: finding.Invariant, RefusedByServer: true, Field: d.Field, Message: "is set twice: remove one", Harm: r.Harm, Fix: r.Fix,
	}}
}

func (f *judged) sort() {
	slices.SortStableFunc(f.findings, func(a, b report.Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message),
		)
	})
}
