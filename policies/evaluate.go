package policies

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
)

// Options selects the rules of an Evaluator. The zero Options selects every
// rule.
type Options struct {
	// Level is the last level to evaluate; zero selects all.
	Level finding.Level
	// Only, if not empty, selects only these rules.
	Only []string
	// Groups are the groups whose rules are selected, too; Only selects rules of any
	// group.
	Groups []string
	// Exclude excludes these rules.
	Exclude []string
	// Exemptable reports whether an object may be exempted from a rule; nil allows
	// no exemptions.
	Exemptable func(rule string) bool
	// Templates locates the pod templates in kinds that are not built in.
	Templates []TemplatePath
}

// Input is what an evaluation knows besides the object. The zero Input is a
// create, on a server of the newest version that this package knows, without
// visible other objects.
type Input struct {
	// Server is the Kubernetes version; nil if unknown.
	Server *version.Version
	// Features are the server's feature gates that differ from the defaults.
	Features map[string]bool
	// Update is true if the object already exists.
	Update bool
	// Defaulted is true if the API server has set the defaults.
	Defaulted bool
	// Scaled is true if a client changes the number of replicas through the
	// subresource scale: no manifest sets it then.
	Scaled bool
	// Lister finds other objects; nil if none are visible.
	Lister Lister
	// Incomplete, unless it is nil, is called with what the Lister could not read, or
	// a rule did not compare: there may be more findings.
	Incomplete func(unseen string)
	// ClusterCIDRs are ranges that the cluster uses, according to usher's
	// configuration.
	ClusterCIDRs []string
	// Exempt, unless it is nil, returns why the object is exempt from a rule, "" if it
	// is not: exemptions of the configuration, in addition to the object's own.
	Exempt func(rule string) string
	// Err, unless it is nil, is called before each rule, and within the loops of
	// rules over other objects. Once it returns an error, the evaluation ends early:
	// the caller discards the findings.
	Err func() error
}

// An Evaluator evaluates a selected set of rules. It is safe for concurrent
// use.
type Evaluator struct {
	byKind     map[string][]*Rule
	lists      map[string][]string
	compares   map[string]bool // by rule
	pods       []*Rule
	templates  []TemplatePath
	exemptable func(string) bool
}

// New returns an Evaluator that selects among rules. It fails on unknown rules
// and invalid template paths.
func New(rules Rules, o Options) (*Evaluator, error) {
	for _, id := range append(slices.Clone(o.Only), o.Exclude...) {
		if _, err := rules.Lookup(id); err != nil {
			return nil, err
		}
	}
	for _, t := range o.Templates {
		if err := t.validate(); err != nil {
			return nil, err
		}
	}
	e := &Evaluator{byKind: map[string][]*Rule{}, lists: map[string][]string{}, compares: map[string]bool{}, templates: o.Templates, exemptable: o.Exemptable}
	for _, r := range rules {
		switch {
		case o.Level != 0 && !o.Level.Includes(r.Level),
			len(o.Only) > 0 && !slices.Contains(o.Only, r.ID),
			len(o.Only) == 0 && r.Group != "" && !slices.Contains(o.Groups, r.Group),
			slices.Contains(o.Exclude, r.ID):
			continue
		}
		e.compares[r.ID] = len(r.Lists) > 0
		for _, kind := range r.AllKinds() {
			e.byKind[kind] = append(e.byKind[kind], r)
			for _, k := range r.Lists {
				if !slices.Contains(e.lists[kind], k) {
					e.lists[kind] = append(e.lists[kind], k)
				}
			}
		}
		if r.Pods {
			e.pods = append(e.pods, r)
		}
	}
	return e, nil
}

// Judges reports whether any rule evaluates objects of this kind.
func (e *Evaluator) Judges(apiVersion, kind string) bool {
	if Known(apiVersion, kind) {
		return len(e.byKind[kind]) > 0
	}
	return len(e.pods) > 0 && slices.ContainsFunc(e.templates, func(t TemplatePath) bool { return t.matches(apiVersion, kind) })
}

// LooksAt reports whether rules read objects of this kind without evaluating
// them.
func LooksAt(apiVersion, kind string) bool { return apiVersion == "v1" && kind == "Secret" }

// Lists returns the kinds whose objects rules list or look up for every object of
// a built-in kind, without duplicates. The caller must not change the slice.
func (e *Evaluator) Lists(kind string) []string { return e.lists[kind] }

// Compares reports whether a rule compares objects with others.
func (e *Evaluator) Compares(rule string) bool { return e.compares[rule] }

// Decode decodes an object for this evaluator.
func (e *Evaluator) Decode(apiVersion, kind string, raw []byte) *Object {
	return decode(apiVersion, kind, raw, e.templates)
}

// Evaluate returns the findings of an object, ordered by rule, including exempt
// ones, which are marked. An object that does not decode has none: the API
// server refuses it.
func (e *Evaluator) Evaluate(o *Object, in Input) []finding.Finding {
	if !o.Decodable() {
		return nil
	}
	var findings []finding.Finding
	rules := e.byKind[o.Kind]
	if !o.builtin {
		rules = e.pods
	}
	pass := Pass{Object: o, Input: &in, findings: &findings}
	newer := Newer(in.Server)
	for _, r := range rules {
		if in.Err != nil && in.Err() != nil {
			return nil
		}
		if !r.Servers.include(in.Server) || r.Together && pass.Unit() == nil {
			continue
		}
		pass.untested = newer && r.Servers != nil
		pass.rule, pass.since = r, r.Since
		r.Check(&pass)
		for i := range r.Stricter {
			pass.since = r.Stricter[i].Since
			r.Stricter[i].Check(&pass)
		}
	}
	if in.Exempt != nil {
		for i := range findings {
			findings[i].Exempt = in.Exempt(findings[i].Rule)
		}
	}
	e.exempt(o, findings)
	return findings
}

// exempt marks the findings that the object is allowed to exempt itself from.
func (e *Evaluator) exempt(o *Object, findings []finding.Finding) {
	if e.exemptable == nil || len(findings) == 0 || o.Meta == nil {
		return
	}
	list, reason := o.Meta.Annotations[wellknown.AnnotationExempt], strings.TrimSpace(o.Meta.Annotations[wellknown.AnnotationExemptReason])
	if list == "" || reason == "" {
		return
	}
	asked := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for i := range findings {
		f := &findings[i]
		if slices.Contains(asked, f.Rule) && e.exemptable(f.Rule) {
			f.Exempt = reason
		}
	}
}

// ServerName names the server in messages, with its version if known.
func (in *Input) ServerName() string {
	if in.Server == nil {
		return "the API server"
	}
	return fmt.Sprintf("Kubernetes %d.%d", in.Server.Major(), in.Server.Minor())
}
