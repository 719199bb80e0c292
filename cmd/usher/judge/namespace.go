package judge

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/cmd/usher/report"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/catalog"
	"github.com/usher-dev/usher/policies/release"
)

// labelled is a Namespace among the documents.
type labelled struct {
	doc    *manifest.Document
	labels map[string]string
	// bad are usher's labels that are no strings.
	bad []*config.LabelError
}

// errQuote is about labels that YAML takes for something else: off is a
// boolean, and no label can be one.
var errQuote = errors.New(`is no string: put the value in quotes, as in "off"`)

// readNamespace reads the labels of a Namespace; nil where the document is none.
func readNamespace(doc *manifest.Document) *labelled {
	if doc.APIVersion != "v1" || doc.Kind != "Namespace" {
		return nil
	}
	n := &labelled{doc: doc, labels: map[string]string{}}
	for key, value := range stringMap(doc.JSON, "metadata", "labels") {
		var text string
		switch {
		case json.Unmarshal(value, &text) == nil:
			n.labels[key] = text
		case slices.Contains([]string{config.EnforceLabel, config.WarnLabel, config.AuditLabel, config.EnforceVersionLabel}, key):
			n.bad = append(n.bad, &config.LabelError{Key: key, Value: string(value), Err: fmt.Errorf("is %s, which %w", value, errQuote)})
		}
	}
	return n
}

// stringMap walks into an object and returns the members of what it finds.
func stringMap(object jsontext.Value, path ...string) map[string]jsontext.Value {
	for _, step := range path {
		var fields map[string]jsontext.Value
		if json.Unmarshal(object, &fields) != nil {
			return nil
		}
		object = fields[step]
	}
	var members map[string]jsontext.Value
	if len(object) == 0 || json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members
}

// namespace is what counts for the objects of one namespace.
type namespace struct {
	labels       map[string]string
	report, fail config.Level
	evaluator    *policies.Evaluator
}

// levels chooses what is reported and what fails: a flag goes before what the
// namespace says.
func (r *Run) levels(n config.Namespace) (report, fail config.Level) {
	report, fail = n.Warn, n.Enforce
	if r.Report != nil {
		report = *r.Report
		// Who asks for less wants less to fail, too, unless they say otherwise.
		if fail.On && report.On && fail.Rules > report.Rules {
			fail = report
		}
	}
	if r.FailOn != nil {
		fail = *r.FailOn
	}
	return report, fail
}

// settle works out what counts in each namespace that documents are in.
func (s *scene) settle(files []file) error {
	labels := map[string]map[string]string{}
	for _, f := range files {
		for _, n := range f.namespaces {
			labels[n.doc.Name] = n.labels
		}
	}
	for _, f := range files {
		for _, d := range f.docs {
			name := s.namespaceOf(d)
			if _, known := s.namespaces[name]; known {
				continue
			}
			own := maps.Clone(s.run.NamespaceLabels)
			if own == nil {
				own = map[string]string{}
			}
			maps.Copy(own, labels[name])
			if name == "" { // cluster-scoped
				own = nil
			}
			// What is wrong with the labels is found on the Namespace itself.
			counts, _ := config.FromLabels(own, s.run.Policies)
			n := &namespace{labels: own}
			n.report, n.fail = s.run.levels(counts)
			var err error
			if n.evaluator, err = s.evaluator(counts.Pin); err != nil {
				return err
			}
			s.namespaces[name] = n
		}
	}
	return nil
}

// evaluator returns the rules as of a version.
func (s *scene) evaluator(pin release.Version) (*policies.Evaluator, error) {
	if e := s.evaluators[pin]; e != nil {
		return e, nil
	}
	options := s.run.Options
	options.Pin = pin
	e, err := policies.New(options)
	if err != nil {
		return nil, err
	}
	s.evaluators[pin] = e
	return e, nil
}

// namespaceOf is the namespace that an object goes to, "" for those in none.
func (s *scene) namespaceOf(d *manifest.Document) string {
	switch {
	case d.Kind == "Namespace" || d.Kind == "ClusterRoleBinding":
		return ""
	case d.Namespace == "":
		return s.run.Namespace
	}
	return d.Namespace
}

// system reports whether usher leaves the object's namespace alone.
func (s *scene) system(d *manifest.Document) (string, bool) {
	name := s.namespaceOf(d)
	if d.APIVersion == "v1" && d.Kind == "Namespace" {
		name = d.Name
	}
	return name, slices.Contains(injector.SystemNamespaces, name)
}

// judgeLabels finds labels that the cluster would refuse.
func (s *scene) judgeLabels(n *labelled) []report.Finding {
	_, errs := config.FromLabels(n.labels, s.run.Policies)
	var found []report.Finding
	for _, e := range append(errs, n.bad...) {
		f := s.own(n.doc, catalog.NamespaceLabel, "metadata.labels["+e.Key+"]", e.Key+": "+e.Err.Error())
		f.Value = e.Value
		found = append(found, f)
	}
	return found
}
