package files

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/config"
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
	// Plan requests the plan of a change, Explain the steps of the decisions.
	Plan, Explain bool
}

// A Validator finds what the API server refuses.
type Validator interface {
	verdict.Validator
	// Define adds the kind of a CustomResourceDefinition, and returns why the server
	// refuses it.
	Define(definition []byte) ([]finding.Finding, error)
	// Knows reports whether it can validate a kind.
	Knows(apiVersion, kind string) bool
	// Note describes how the validation differs from the server's, "" if it does
	// not.
	Note() string
}

// A Workspace contains the facts from files. It is safe for concurrent use.
type Workspace struct {
	// Notes describe assumptions.
	Notes []string
	// Templates are the templates among the files.
	Templates *injector.Set

	options   Options
	networks  map[string]map[string]network.State
	facts     map[string]*verdict.Facts // by namespace
	limits    map[string][]corev1.LimitRange
	evaluator *policies.Evaluator
	objects   index
	given     map[*manifest.Document]bool
	refused   map[schema.GroupKind]bool // kinds whose definitions the server refuses
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
		options: o, evaluator: evaluator, facts: map[string]*verdict.Facts{},
		networks: manifest.Networks(docs, o.Namespace), given: map[*manifest.Document]bool{},
		refused: map[schema.GroupKind]bool{},
	}
	for _, d := range given {
		w.given[d] = true
	}
	errs := w.loadTemplates(docs, given)
	errs = append(errs, w.define(o.Definitions, docs)...)
	w.objects = newIndex(docs, o.Namespace)
	labels := map[string]map[string]string{}
	for _, d := range docs {
		if d.APIVersion == "v1" && d.Kind == "Namespace" {
			labels[d.Name], _ = verdict.Labels(d.JSON)
		}
	}
	w.limits = limitRanges(docs, o.Namespace)
	for _, d := range slices.Concat(docs, given) {
		name := w.NamespaceOf(d)
		if w.facts[name] != nil {
			continue
		}
		w.facts[name] = w.factsOf(name, labels[name])
	}
	return w, errs
}

// factsOf returns the facts about the objects of one namespace.
func (w *Workspace) factsOf(namespace string, own map[string]string) *verdict.Facts {
	o := w.options
	var labels map[string]string
	if namespace != "" {
		labels = maps.Clone(o.NamespaceLabels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, own)
		labels[corev1.LabelMetadataName] = namespace // as in every namespace of a cluster
	}
	// Judge reports a label with an invalid value on the Namespace itself.
	levels, _ := config.FromLabels(labels, o.Configuration.Policies)
	if o.Warn != nil {
		if levels.Warn = *o.Warn; levels.Warn != finding.Off {
			levels.Enforce = min(levels.Enforce, levels.Warn) // a user who asks for fewer findings wants fewer to fail, too
		}
	}
	if o.Enforce != nil {
		levels.Enforce = *o.Enforce
	}
	steps := o.Steps
	if slices.Contains(decision.SystemNamespaces, namespace) {
		steps &= verdict.Validate // usher skips these namespaces, but the API server does not
	}
	facts := &verdict.Facts{
		Steps: steps, NamespaceLabels: labels, Scope: decision.Scope{ReleaseNamespace: o.OwnNamespace}, Levels: levels, Configuration: o.Configuration,
		Templates: w.Templates, NativeSidecars: o.NativeSidecars, Networks: w.networks[namespace],
		Evaluator: w.evaluator, Server: o.Server, Lister: w.objects.lister(w.evaluator),
		UnseenTemplates: "usher read only the given templates", UnseenNetworks: unseen,
		Transitions: transition.All(), Plan: o.Plan, Explain: o.Explain,
	}
	facts.LimitRanges = func() []corev1.LimitRange { return w.limits[namespace] }
	if o.Validator != nil {
		facts.Validator = o.Validator
	}
	return facts
}

// unseen explains why an object may exist that is not among the files.
const unseen = "usher read only the given files"

// Judge decides about a document; old is what it replaces, or nil.
func (w *Workspace) Judge(doc, old *manifest.Document) (*verdict.Verdict, error) {
	var before *verdict.Object
	if old != nil {
		before = &verdict.Object{APIVersion: old.APIVersion, Kind: old.Kind, Namespace: w.NamespaceOf(doc), Name: old.Name, JSON: old.JSON}
	}
	v, err := w.JudgeObject(w.object(doc), before)
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
	facts := w.facts[object.Namespace]
	if object.APIVersion == "v1" && object.Kind == "Namespace" && slices.Contains(decision.SystemNamespaces, object.Name) {
		own := *facts
		own.Steps &= verdict.Validate
		facts = &own
	}
	if _, taken := facts.Networks[object.Name]; taken && object.Kind == "Deployment" {
		own := *facts
		own.OwnNetworkTaken = true
		facts = &own
	}
	return verdict.Judge(context.Background(), object, old, facts)
}

func (w *Workspace) object(doc *manifest.Document) verdict.Object {
	return verdict.Object{
		APIVersion: doc.APIVersion, Kind: doc.Kind, Namespace: w.NamespaceOf(doc), Name: doc.Name, JSON: doc.JSON,
		Typed: w.objects.decoded(doc, w.facts[w.NamespaceOf(doc)].Evaluator),
	}
}

// NamespaceOf returns the namespace of a document's object, "" for a
// cluster-scoped object.
func (w *Workspace) NamespaceOf(doc *manifest.Document) string {
	switch {
	case doc.Kind == "Namespace" || doc.Kind == "ClusterRoleBinding":
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
	return w.facts[w.NamespaceOf(doc)].Evaluator.Judges(doc.APIVersion, doc.Kind) || w.IsTemplate(doc) || !w.Unknown(doc)
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
	return w.options.Validator == nil || !w.options.Validator.Knows(doc.APIVersion, doc.Kind)
}

// HasNetworks reports whether the files contain a Network in the namespace of a
// document.
func (w *Workspace) HasNetworks(doc *manifest.Document) bool {
	return len(w.networks[w.NamespaceOf(doc)]) > 0
}
