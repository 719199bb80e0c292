package files

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/verdict"
)

// The kinds of admission policies that usher evaluates.
const (
	policyGroup = "admissionregistration.k8s.io"
	policyKind  = "ValidatingAdmissionPolicy"
	bindingKind = "ValidatingAdmissionPolicyBinding"
)

// enforce makes the validators apply the ValidatingAdmissionPolicies among the
// documents, and those of the options. Judge reports what the API server refuses in
// the documents; the errors are about the options'.
func (w *Workspace) enforce(docs []*manifest.Document) (errs []error) {
	if w.options.Validator == nil {
		return nil
	}
	among := map[string]bool{}
	for _, d := range docs {
		among[w.identity(d)] = true
	}
	given := slices.DeleteFunc(slices.Clone(w.options.Policies), func(d *manifest.Document) bool { return among[w.identity(d)] })
	relevant := ofPolicies(slices.Concat(docs, given), w.options.ClusterPolicies)
	if len(relevant)+len(w.options.ClusterPolicies) == 0 {
		return nil
	}
	w.enforces = true
	isGiven := map[*manifest.Document]bool{}
	for _, d := range given {
		isGiven[d] = true
	}
	alternative, units := w.alternatives(relevant)
	for _, unit := range append([]string{anyUnit}, units...) {
		v, own, others := w.options.Validator, []*manifest.Document(nil), []*manifest.Document(nil)
		if unit != anyUnit {
			v = w.variant(unit)
		}
		for _, d := range relevant {
			switch {
			case d.Unit == unit && !isGiven[d]:
				own = append(own, d)
			case !alternative[w.identity(d)]:
				others = append(others, d)
			}
		}
		for _, d := range w.enforceIn(v, append(own, others...)) {
			if isGiven[d.doc] && unit == anyUnit {
				errs = append(errs, &manifest.Error{File: d.doc.File, Line: d.doc.Line, Err: fmt.Errorf("the API server refuses %s: %s", d.doc, d.why)})
			}
		}
	}
	return errs
}

// refusedPolicy is a policy, or a binding, that the API server refuses.
type refusedPolicy struct {
	doc *manifest.Document
	why string
}

// enforceIn makes a validator apply the policies among the documents, and returns those
// that the API server refuses.
func (w *Workspace) enforceIn(v Validator, docs []*manifest.Document) (refused []refusedPolicy) {
	manifests := make([]admission.Manifest, 0, len(docs)+len(w.options.ClusterPolicies))
	for _, d := range docs {
		object := verdict.Object{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: w.NamespaceOf(d), Name: d.Name, JSON: d.JSON}
		manifests = append(manifests, admission.Manifest{Object: object, Where: fmt.Sprintf("%s:%d", d.File, d.Line)})
	}
	why := v.Enforce(append(manifests, w.options.ClusterPolicies...))
	for i, d := range docs {
		if why[i] == "" {
			continue
		}
		w.invalid[d] = true
		if isPolicy(d, policyKind) {
			w.broken[d.Name] = true
		}
		refused = append(refused, refusedPolicy{d, why[i]})
	}
	for i, m := range w.options.ClusterPolicies {
		if reason := why[len(docs)+i]; reason != "" {
			w.Notes = append(w.Notes, fmt.Sprintf("the cluster's %s %s is not evaluated: %s", m.Kind, m.Name, reason))
		}
	}
	return refused
}

// ofPolicies returns the documents on which decisions of policies depend: policies,
// bindings, Namespaces, and objects of the kinds of parameters; none without policies.
func ofPolicies(docs []*manifest.Document, cluster []admission.Manifest) []*manifest.Document {
	kinds := map[schema.GroupKind]bool{{Kind: "Namespace"}: true, {Group: policyGroup, Kind: policyKind}: true, {Group: policyGroup, Kind: bindingKind}: true}
	found := len(cluster) > 0
	add := func(raw []byte) {
		var policy struct {
			Spec struct {
				ParamKind struct{ APIVersion, Kind string } `json:"paramKind"`
			} `json:"spec"`
		}
		_ = json.Unmarshal(raw, &policy) // the API server refuses a policy that does not decode
		kinds[schema.FromAPIVersionAndKind(policy.Spec.ParamKind.APIVersion, policy.Spec.ParamKind.Kind).GroupKind()] = true
		found = true
	}
	for _, d := range docs {
		if isPolicy(d, policyKind) {
			add(d.JSON)
		}
	}
	for _, m := range cluster {
		if m.Kind == policyKind {
			add(m.JSON)
		}
	}
	if !found {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(docs), func(d *manifest.Document) bool {
		return !kinds[schema.FromAPIVersionAndKind(d.APIVersion, d.Kind).GroupKind()]
	})
}

// alternatives returns the policies and bindings that differ between units, of which
// each applies only to its own unit, and these units.
func (w *Workspace) alternatives(docs []*manifest.Document) (differ map[string]bool, units []string) {
	first, differ := map[string]*manifest.Document{}, map[string]bool{}
	isOf := func(d *manifest.Document) bool { return isPolicy(d, policyKind) || isPolicy(d, bindingKind) }
	for _, d := range docs {
		key := w.identity(d)
		if before := first[key]; before != nil && isOf(d) && before.Unit != d.Unit && !bytes.Equal(before.JSON, d.JSON) {
			differ[key] = true
		} else if before == nil {
			first[key] = d
		}
	}
	for _, d := range docs {
		if differ[w.identity(d)] && !slices.Contains(units, d.Unit) {
			units = append(units, d.Unit)
		}
	}
	return differ, units
}

// identity identifies an object among the documents.
func (w *Workspace) identity(d *manifest.Document) string {
	return schema.FromAPIVersionAndKind(d.APIVersion, d.Kind).GroupKind().String() + "/" + w.NamespaceOf(d) + "/" + d.Name
}

func isPolicy(d *manifest.Document, kind string) bool {
	return d.Kind == kind && schema.FromAPIVersionAndKind(d.APIVersion, d.Kind).Group == policyGroup
}

// Evaluates reports whether a document decides about others by what usher evaluates: a
// ValidatingAdmissionPolicy with a binding. One that the API server refuses decides
// nothing.
func (w *Workspace) Evaluates(d *manifest.Document) bool {
	name, v := d.Name, w.options.Validator
	if own := w.variants[d.Unit]; own != nil {
		v = own
	}
	switch {
	case v == nil:
		return false
	case isPolicy(d, bindingKind):
		name = policyOf(d)
	case !isPolicy(d, policyKind):
		return false
	}
	return w.invalid[d] || w.broken[name] || v.Enforces(name)
}

// NotEvaluated returns the documents that decide about others, and that usher does not
// evaluate.
func (w *Workspace) NotEvaluated(docs []*manifest.Document) []Unevaluated {
	return NotEvaluated(slices.DeleteFunc(slices.Clone(docs), w.Evaluates))
}

// Unadmitted counts what the admission policies did not decide.
func (w *Workspace) Unadmitted() admission.Left {
	all := admission.Left{}
	if w.options.Validator != nil {
		all.Add(w.options.Validator.Unadmitted())
	}
	for _, own := range w.variants {
		all.Add(own.Unadmitted())
	}
	return all
}

// policyOf returns the name of a binding's policy.
func policyOf(binding *manifest.Document) string {
	var b struct {
		Spec struct {
			PolicyName string `json:"policyName"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(binding.JSON, &b) // the API server refuses a binding that does not decode
	return b.Spec.PolicyName
}

// Deletion returns what the admission policies say about the deletion of a document's
// object.
func (w *Workspace) Deletion(ctx context.Context, doc *manifest.Document) (found []verdict.Finding, err error) {
	if w.options.Validator == nil {
		return nil, nil
	}
	object := w.object(doc)
	known, err := within{w, doc.Unit, doc.File}.Gather(ctx, facts.Request{Object: object, Steps: verdict.Validate})
	if err != nil {
		return nil, err
	}
	for _, f := range known.Validator.Admit(ctx, nil, &object, false, known) {
		found = append(found, verdict.Finding{Finding: f, Source: verdict.FromServer})
	}
	return found, nil
}
