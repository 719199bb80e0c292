package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// Options are what the user selects on the command line.
type Options struct {
	// Steps are the steps of the verdict.
	Steps verdict.Steps
	// Configuration is usher's own configuration; Rules selects the rules, in
	// addition to the version that a namespace pins.
	Configuration *config.Configuration
	Rules         policies.Options
	// Namespace is the namespace of objects without one; OwnNamespace is usher's
	// own.
	Namespace, OwnNamespace string
	// NamespaceLabels are labels of every namespace, overridden by those of the
	// Namespaces among the files.
	NamespaceLabels map[string]string
	// Eager makes rules deny that a cluster only warns of at first: see
	// policies.Rule.Gradual.
	Eager bool
	// Warn and Enforce, if set, override the levels of every namespace.
	Warn, Enforce *finding.Level
	// Server is the version of the API server; nil means the newest that usher
	// knows.
	Server *version.Version
	// NativeSidecars is true if every kubelet supports native sidecars.
	NativeSidecars bool
	// Validator finds what the API server refuses.
	Validator Validator
	// Definitions are CustomResourceDefinitions in addition to those in the input.
	Definitions []*manifest.Document
	// Policies are ValidatingAdmissionPolicies, their bindings and parameters in
	// addition to those in the input, ClusterPolicies those of a cluster.
	Policies        []*manifest.Document
	ClusterPolicies []admission.Manifest
	// Plan requests the plan of a change, Explain the steps of the decisions;
	// Verbose: see verdict.World.
	Plan, Explain, Verbose bool
}

// A Validator finds what the API server refuses.
type Validator interface {
	verdict.Validator
	// Define adds the kind of a CustomResourceDefinition, or returns why the server
	// refuses it. variant is true if an earlier definition of the kind, which stays, is
	// a different one.
	Define(definition []byte) (refusals []finding.Finding, variant bool, err error)
	// Within returns a Validator for objects that have definitions of their own.
	Within() Validator
	// Knows reports whether it can validate a kind.
	Knows(apiVersion, kind string) bool
	// Note describes how the validation differs from the server's, "" if it does
	// not.
	Note() string
	// Unjudged describes what it left out of the objects that it validated, "" if
	// nothing.
	Unjudged() string
	// Enforce makes Admit apply the admission policies among the objects, and returns
	// by index why the server refuses some.
	Enforce(objects []admission.Manifest) map[int]string
	// Enforces reports whether a policy of that name and a binding take effect.
	Enforces(policy string) bool
	// Unadmitted counts what Admit did not decide.
	Unadmitted() admission.Left
}

// A Workspace contains the facts from files. It is safe for concurrent use.
type Workspace struct {
	// Notes describe assumptions.
	Notes []string
	// Templates are the templates among the files.
	Templates *injector.Set

	options Options
	world   *verdict.World
	// variants are the validators of the units whose definitions differ from those that
	// serve the others, and worlds the worlds with them.
	variants map[string]Validator
	worlds   map[string]*verdict.World
	labels   map[string]map[string]string // by namespace
	// annotations are those of the namespaces among the files.
	annotations map[string]map[string]string
	networks    map[string]map[string]network.State
	operators   operators
	objects     index
	given       map[*manifest.Document]bool
	refused     map[schema.GroupKind]bool // kinds whose definitions the server refuses
	// invalid are the admission policies that the server refuses, broken their names.
	invalid  map[*manifest.Document]bool
	broken   map[string]bool
	enforces bool // there are admission policies
}

// Load loads the facts from the documents. given are the documents of files
// that were given as templates. The errors are of unusable documents; Judge
// reports what is wrong with an object.
func Load(docs, given []*manifest.Document, o Options) (*Workspace, []error) {
	evaluator, err := rules.New(o.Rules)
	if err != nil {
		return nil, []error{err}
	}
	w := &Workspace{
		options: o, labels: map[string]map[string]string{}, annotations: map[string]map[string]string{},
		networks: manifest.Networks(docs, o.Namespace), given: map[*manifest.Document]bool{},
		refused: map[schema.GroupKind]bool{}, variants: map[string]Validator{}, worlds: map[string]*verdict.World{},
		invalid: map[*manifest.Document]bool{}, broken: map[string]bool{},
	}
	for _, d := range given {
		w.given[d] = true
	}
	errs := w.loadTemplates(docs, given)
	errs = append(errs, w.define(o.Definitions, docs)...)
	errs = append(errs, w.enforce(docs)...)
	w.objects, w.operators = newIndex(docs, o.Namespace), newOperators(docs)
	own := map[string]map[string]string{}
	for _, d := range docs {
		if d.APIVersion == "v1" && d.Kind == "Namespace" {
			own[d.Name], _ = verdict.Labels(d.JSON)
			w.annotations[d.Name] = annotationsOf(d.JSON)
		}
	}
	for _, d := range slices.Concat(docs, given) {
		name := w.NamespaceOf(d)
		if _, known := w.labels[name]; !known && name != "" {
			w.labels[name] = namespaceLabels(name, o.NamespaceLabels, own[name])
		}
	}
	w.world = &verdict.World{
		Scope: decision.Scope{ReleaseNamespace: o.OwnNamespace}, Configuration: o.Configuration, Evaluator: evaluator, Templates: w.Templates,
		NativeSidecars: o.NativeSidecars, Server: o.Server, Transitions: transition.All(), Plan: o.Plan, Explain: o.Explain, Verbose: o.Verbose,
		UnseenTemplates: "usher read only the given templates", UnseenNetworks: unseen,
	}
	if o.Validator != nil {
		w.world.Validator, w.world.Admission = o.Validator, w.enforces
	}
	for unit, own := range w.variants {
		world := *w.world
		world.Validator = own
		w.worlds[unit] = &world
	}
	return w, errs
}

// Within returns a Validator for objects with definitions of their own; nil if the
// Workspace does not have one.
func (w *Workspace) Within() Validator {
	if w.options.Validator == nil {
		return nil
	}
	return w.options.Validator.Within()
}

// unseen explains why an object may exist that is not among the files.
const unseen = "usher read only the given files"

// Partial reports whether rules did not compare an object with all of the files'
// objects, because these are too many.
func Partial(v *verdict.Verdict) bool {
	return slices.ContainsFunc(v.Incomplete, func(what string) bool { return what != unseen })
}

// Judge decides about a document; old is what it replaces, or nil.
func (w *Workspace) Judge(doc, old *manifest.Document) (*verdict.Verdict, error) {
	var before *verdict.Object
	if old != nil {
		before = &verdict.Object{APIVersion: old.APIVersion, Kind: old.Kind, Namespace: w.NamespaceOf(doc), Name: old.Name, JSON: old.JSON}
	}
	v, err := facts.Judge(context.Background(), within{w, doc.Unit, doc.File}, facts.Request{Object: w.object(doc), Old: before, Steps: w.options.Steps})
	if err != nil {
		return nil, &manifest.Error{File: doc.File, Line: doc.Line, Err: fmt.Errorf("judging the %s: %w", doc, err)}
	}
	if w.given[doc] {
		// The template is only in the input for the objects: do not report its
		// effects.
		v.Findings = slices.DeleteFunc(v.Findings, func(f verdict.Finding) bool { return f.Effect == verdict.Warns })
	}
	return v, nil
}

// Judged marks a document as judged, so that its decoded object can be dropped
// once no rule will read it.
func (w *Workspace) Judged(doc *manifest.Document) { w.objects.judged(doc) }

// JudgeObject decides about an object in the namespace of a document.
func (w *Workspace) JudgeObject(object verdict.Object, old *verdict.Object) (*verdict.Verdict, error) {
	return facts.Judge(context.Background(), within{w, "", ""}, facts.Request{Object: object, Old: old, Steps: w.options.Steps})
}

func (w *Workspace) object(doc *manifest.Document) verdict.Object {
	o := verdict.Object{APIVersion: doc.APIVersion, Kind: doc.Kind, Namespace: w.NamespaceOf(doc), Name: doc.Name, JSON: doc.JSON}
	if c := w.options.Configuration; c != nil && len(c.Exemptions) > 0 && doc.File != manifest.Stdin {
		o.File = c.Relative(doc.File)
	}
	if w.options.Steps&verdict.Evaluate != 0 { // the rules decode it for other objects, too
		o.Typed = w.objects.decoded(doc, w.world.Evaluator)
	}
	return o
}

// NamespaceOf returns the namespace of a document's object, "" for a
// cluster-scoped object.
func (w *Workspace) NamespaceOf(doc *manifest.Document) string {
	switch {
	case doc.Kind == "Namespace" || doc.Kind == "ClusterRole" || doc.Kind == "ClusterRoleBinding":
		return ""
	case w.IsTemplate(doc):
		return w.options.OwnNamespace
	case doc.Namespace == "":
		return w.options.Namespace
	}
	return doc.Namespace
}

// Judges reports whether usher can judge objects of the document's kind.
func (w *Workspace) Judges(doc *manifest.Document) bool {
	return w.world.Evaluator.Judges(doc.APIVersion, doc.Kind) || w.IsTemplate(doc) || !w.Unknown(doc)
}

// readByTools are the API groups of files that are never sent to a server.
var readByTools = []string{"config.usher.dev", "kustomize.config.k8s.io"}

// ForTools reports whether a document is for a tool that reads manifests, and not
// for a cluster.
func ForTools(doc *manifest.Document) bool {
	group, _, _ := strings.Cut(doc.APIVersion, "/")
	return slices.Contains(readByTools, group)
}

// Unknown reports whether the document's kind is neither built in nor defined.
func (w *Workspace) Unknown(doc *manifest.Document) bool {
	v := w.options.Validator
	if own := w.variants[doc.Unit]; own != nil {
		v = own
	}
	return v == nil || !v.Knows(doc.APIVersion, doc.Kind)
}

// HasNetworks reports whether the files contain a Network in the namespace of a
// document.
func (w *Workspace) HasNetworks(doc *manifest.Document) bool {
	return len(w.networks[w.NamespaceOf(doc)]) > 0
}
