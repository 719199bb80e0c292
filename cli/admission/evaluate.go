package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// ErrCluster is wrapped by an error of Request.Interfaces if only a cluster can
// convert the object.
var ErrCluster = errors.New("only the cluster can convert the object")

// An evaluation is that of one policy with one binding.
type evaluation struct {
	*Policies
	policy  *policy
	binding binding
	request *Request
	found   []Decision
}

// evaluate decides about a request like the server's dispatcher, which answers with
// the first denial.
func (p *Policies) evaluate(ctx context.Context, of *policy, r *Request) []Decision {
	if len(of.bindings) == 0 {
		return nil
	}
	e := &evaluation{Policies: p, policy: of, request: r}
	m, err := r.matchesPolicy(of.ValidatingAdmissionPolicy)
	switch {
	case err != nil:
		e.misconfigured("policy", err)
		return e.found
	case !m.applies:
		return nil
	}
	var versioned *admission.VersionedAttributes
	for _, e.binding = range of.bindings {
		bound, err := r.matchesBinding(e.binding.ValidatingAdmissionPolicyBinding)
		switch {
		case err != nil:
			e.misconfigured("binding", err)
			continue
		case !bound.applies:
			continue
		case m.doubtful || bound.doubtful:
			e.leave(whyLabels)
			continue
		}
		params, err := p.params(of, e.binding, r.GetNamespace())
		if unknown := (*absent)(nil); errors.As(err, &unknown) {
			e.leave(unknown.what)
			continue
		}
		if err == nil && len(params) > 0 && versioned == nil {
			versioned, err = admission.NewVersionedAttributes(r, m.kind, r.Interfaces)
			if errors.Is(err, ErrCluster) {
				e.leave(err.Error())
				return e.found
			}
		}
		if err != nil {
			e.misconfigured("binding", err)
			continue
		}
		for _, param := range params {
			e.validate(ctx, m, versioned, param)
		}
	}
	return e.found
}

// validate evaluates the expressions with one parameter, nil for none.
func (e *evaluation) validate(ctx context.Context, m match, versioned *admission.VersionedAttributes, param runtime.Object) {
	program, err := e.policy.compiler.program(e.request.NamespaceKnown || e.request.Namespace == nil, e.secret())
	if err != nil {
		e.misconfigured("policy", err)
		return
	}
	if program.conditions != nil {
		if result := program.conditions.Match(ctx, versioned, param, nil); result.Error != nil || result.Matches {
			e.leave("its match conditions read " + program.unknown.String())
		}
		return
	}
	if program.unknown != 0 {
		e.leave("some of its expressions read " + program.unknown.String())
	}
	result := program.Validate(ctx, m.resource, versioned, param, e.request.namespaceObject(), celconfig.RuntimeCELCostBudget, nil)
	for _, d := range result.Decisions {
		failed := d.Evaluation == validating.EvalError
		if failed && e.secret() {
			d.Message = "an expression failed: usher does not print the error, which may contain a part of the Secret"
		}
		switch {
		case d.Action == validating.ActionDeny && (!failed || !e.request.Refused):
			e.decide(d.Message)
		case failed && !e.request.Refused:
			e.ignore(d.Message)
		}
	}
	for _, a := range result.AuditAnnotations {
		if a.Action == validating.AuditAnnotationActionError && !e.request.Refused {
			e.deny(a.Error) // whatever the actions of the binding
		}
	}
}

// secret reports whether messages may contain a part of a Secret.
func (e *evaluation) secret() bool {
	kind := e.policy.Spec.ParamKind
	return e.request.Secret || kind != nil && kind.APIVersion == "v1" && kind.Kind == "Secret"
}

// decide takes the actions of the binding.
func (e *evaluation) decide(message string) {
	actions := e.binding.Spec.ValidationActions
	switch {
	case slices.Contains(actions, v1.Deny):
		e.deny(message)
	case slices.Contains(actions, v1.Warn):
		e.add(false, fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", e.policy.Name, e.binding.Name, message))
	default:
		e.audit()
	}
}

// misconfigured denies the request because of what is wrong with a policy or its
// binding, unless the policy ignores failures.
func (e *evaluation) misconfigured(what string, err error) {
	if failures := e.policy.Spec.FailurePolicy; failures != nil && *failures == v1.Ignore {
		e.ignore(err.Error())
		return
	}
	e.deny(fmt.Sprintf("failed to configure %s: %v", what, err))
}

func (e *evaluation) deny(message string) {
	by := fmt.Sprintf("ValidatingAdmissionPolicy '%s'", e.policy.Name)
	if e.binding.ValidatingAdmissionPolicyBinding != nil {
		by += fmt.Sprintf(" with binding '%s'", e.binding.Name)
	}
	e.add(true, by+" denied request: "+message)
}

// add adds a decision once: the server, too, says the same only once.
func (e *evaluation) add(denies bool, message string) {
	d := Decision{Policy: e.policy.Name, Where: e.policy.where, Denies: denies, Message: message}
	if !slices.Contains(e.found, d) {
		e.found = append(e.found, d)
	}
}
