package judge

import (
	"slices"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/cmd/usher/report"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/catalog"
	"github.com/usher-dev/usher/policies/release"
)

// A scene is what the files say together, before any object is judged.
type scene struct {
	run        *Run
	set        *injector.Set
	namespaces map[string]*namespace
	evaluators map[release.Version]*policies.Evaluator
	entries    map[string]catalog.Entry
	notes      []string
}

// survey reads what matters for other objects: templates and namespaces.
func (r *Run) survey(files []file) (*scene, error) {
	s := &scene{run: r, namespaces: map[string]*namespace{}, evaluators: map[release.Version]*policies.Evaluator{}, entries: map[string]catalog.Entry{}}
	for _, e := range catalog.Entries() {
		s.entries[e.ID] = e
	}
	s.collect(files)
	return s, s.settle(files)
}

// subject is an object to judge.
type subject struct {
	doc *manifest.Document
	ns  *namespace
	// object is the object as it would be after injection, written as it
	// stands in the file; they are the same where nothing is injected.
	object, written *policies.Object
	injection       *injector.Decision
}

// open decodes what a file holds, and injects.
func (s *scene) open(f *file) {
	if f.given {
		f.judged = len(f.templates)
		return
	}
	for _, d := range f.docs {
		if !d.IsObject() {
			f.skipped = append(f.skipped, report.Skipped{Reason: notAnObject, Count: 1})
			continue
		}
		if name, system := s.system(d); system {
			f.skip(d, "of the namespace "+name+", which usher leaves alone")
			continue
		}
		ns := s.namespaces[s.namespaceOf(d)]
		about := func(t *template) bool { return t.doc == d }
		switch {
		case ns.evaluator.Judges(d.APIVersion, d.Kind):
			f.subjects = append(f.subjects, s.subject(f, d, ns))
			f.judged++
		case d.APIVersion == "v1" && d.Kind == "Namespace", slices.ContainsFunc(f.templates, about):
			f.judged++
		default:
			if policies.LooksAt(d.APIVersion, d.Kind) {
				f.subjects = append(f.subjects, s.subject(f, d, ns))
			}
			f.skip(d, "no rule for this kind")
		}
	}
}

func (s *scene) subject(f *file, d *manifest.Document, ns *namespace) *subject {
	object := ns.evaluator.Decode(d.APIVersion, d.Kind, d.JSON)
	sub := &subject{doc: d, ns: ns, object: object, written: object}
	if err := s.inject(sub); err != nil {
		f.errs = append(f.errs, &manifest.Error{File: d.File, Line: d.Line, Err: err})
	}
	return sub
}

// judge judges everything in a file.
func (s *scene) judge(f *file, in policies.Input) {
	for _, t := range f.templates {
		if _, system := s.system(t.doc); system {
			continue
		}
		found, err := s.judgeTemplate(t)
		if err != nil {
			f.errs = append(f.errs, &manifest.Error{File: t.doc.File, Line: t.doc.Line, Err: err})
		}
		f.findings = append(f.findings, found...)
	}
	if !f.given {
		for _, n := range f.namespaces {
			if _, system := s.system(n.doc); !system {
				f.findings = append(f.findings, s.judgeLabels(n)...)
			}
		}
	}
	for _, sub := range f.subjects {
		denied, unseen := s.denials(sub)
		if unseen {
			f.unseen++
		}
		f.findings = append(f.findings, denied...)
		f.findings = append(f.findings, s.evaluate(sub, in)...)
	}
	f.findings = slices.DeleteFunc(f.findings, func(found report.Finding) bool { return found.Rule == "" })
	f.sort()
}

// finding turns what a rule found into what is reported, if it is.
func (s *scene) finding(sub *subject, f policies.Finding, at string) (report.Finding, bool) {
	if !sub.ns.report.Includes(f.Level) && !sub.ns.fail.Includes(f.Level) || !s.wanted(f.Rule) {
		return report.Finding{}, false
	}
	line, column := sub.doc.Position(at)
	return report.Finding{
		File: sub.doc.File, Line: line, Column: column,
		Kind: sub.doc.Kind, Namespace: sub.doc.Namespace, Name: sub.doc.Name,
		Rule: f.Rule, Level: f.Level, RefusedByServer: f.RefusedByServer,
		FieldPath: f.Field, Value: f.Value, Message: f.Message, Harm: f.Harm, Fix: f.Fix,
		Unseen: f.Unseen, Exempt: f.Exempt,
		Fails: f.Exempt == "" && sub.ns.fail.Includes(f.Level),
	}, true
}

// own makes a finding of what is found besides the rules; its rule is empty
// where it is not wanted. The levels of policies do not soften what the cluster
// refuses for other reasons: invariants fail, unless a flag says otherwise. What
// a template changes is told whatever the level, unless a flag says otherwise.
func (s *scene) own(doc *manifest.Document, id, field, message string) report.Finding {
	e := s.entries[id]
	level, err := policies.ParseLevel(e.Level)
	if err != nil {
		level = policies.Invariant // what the catalogue does not know is never passed over
	}
	counts := config.Namespace{Enforce: s.run.Policies.Enforce, Warn: config.LevelOf(policies.Strict)}
	if !counts.Enforce.On {
		counts.Enforce = config.LevelOf(policies.Invariant)
	}
	reported, fail := s.run.levels(counts)
	if !reported.Includes(level) && !fail.Includes(level) || !s.wanted(id) {
		return report.Finding{}
	}
	line, column := doc.Position(field)
	return report.Finding{
		File: doc.File, Line: line, Column: column, Kind: doc.Kind, Namespace: doc.Namespace, Name: doc.Name,
		Rule: id, Level: level, FieldPath: field, Message: message, Harm: e.Harm, Fix: e.Fix, Fails: fail.Includes(level),
	}
}

// wanted reports whether the flags leave a rule in.
func (s *scene) wanted(id string) bool {
	return (len(s.run.Only) == 0 || slices.Contains(s.run.Only, id)) && !slices.Contains(s.run.Exclude, id)
}
