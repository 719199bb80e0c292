package admission

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A program is the part of a policy that can be evaluated while some things are
// unknown.
type program struct {
	validating.Validator
	// conditions are the match conditions that can be evaluated, if others cannot:
	// then the policy's validations cannot be, either. nil if all can.
	conditions matchconditions.Matcher
	// unknown is what the rest reads.
	unknown reads
}

// A purpose is what a program is compiled for.
type purpose struct {
	unknown reads
	// secret is true if no message may contain a part of the object or of the
	// parameters.
	secret bool
}

// compiler compiles a policy at most once for each purpose.
type compiler struct {
	policy   *v1.ValidatingAdmissionPolicy
	scan     func() (*scanned, error)
	programs sync.Map // functions, by purpose
}

func newCompiler(p *v1.ValidatingAdmissionPolicy) *compiler {
	return &compiler{policy: p, scan: sync.OnceValues(func() (*scanned, error) { return scanPolicy(p) })}
}

// program returns the part of the policy for an object whose namespace is known or
// not.
func (c *compiler) program(namespaceKnown, secret bool) (*program, error) {
	s, err := c.scan()
	if err != nil {
		return nil, err
	}
	to := purpose{needsCluster, secret && s.says}
	if !namespaceKnown {
		to.unknown |= readsNamespace & s.all()
	}
	made, _ := c.programs.LoadOrStore(to, sync.OnceValues(func() (*program, error) { return c.compile(to) }))
	return made.(func() (*program, error))()
}

// scanned is what the expressions of a policy read, in the order of the policy.
type scanned struct {
	conditions, validations, messages, annotations []reads
	says                                           bool // true if there are message expressions
}

func (s *scanned) all() (found reads) {
	for _, list := range [][]reads{s.conditions, s.validations, s.messages, s.annotations} {
		for _, one := range list {
			found |= one
		}
	}
	return found
}

func scanPolicy(p *v1.ValidatingAdmissionPolicy) (*scanned, error) {
	env, err := base().Env(environment.StoredExpressions)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	s := &scanner{env: env, variables: map[string]reads{}}
	for _, v := range p.Spec.Variables {
		s.add(v.Name, v.Expression)
	}
	found := &scanned{}
	for _, c := range p.Spec.MatchConditions {
		// The server evaluates match conditions without the namespace: to them it is
		// always null.
		found.conditions = append(found.conditions, s.scan(c.Expression)&^readsNamespace)
	}
	for _, v := range p.Spec.Validations {
		found.validations = append(found.validations, s.scan(v.Expression))
		found.messages = append(found.messages, s.scan(v.MessageExpression))
		found.says = found.says || v.MessageExpression != ""
	}
	for _, a := range p.Spec.AuditAnnotations {
		found.annotations = append(found.annotations, s.scan(a.ValueExpression))
	}
	return found, nil
}

func base() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
}

// compile assembles a Validator as the server does, without the expressions that
// read what is unknown. A match condition that fails is always an error, so that
// the caller sees it also if the policy ignores failures.
func (c *compiler) compile(to purpose) (*program, error) {
	s, err := c.scan()
	if err != nil {
		return nil, err
	}
	composed, err := cel.NewCompositedCompiler(base())
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	spec := &c.policy.Spec
	declared := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	var variables []cel.NamedExpressionAccessor
	for _, v := range spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	composed.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)

	made := &program{}
	known := func(r reads) bool {
		made.unknown |= r & to.unknown
		return r&to.unknown == 0
	}
	var conditions, validations, messages, annotations []cel.ExpressionAccessor
	for i := range spec.MatchConditions {
		if known(s.conditions[i]) {
			conditions = append(conditions, (*matchconditions.MatchCondition)(&spec.MatchConditions[i]))
		}
	}
	fail := v1.Fail
	matcher := matchconditions.NewMatcher(composed.CompileCondition(conditions, declared, environment.StoredExpressions), &fail, "policy", "validate", c.policy.Name)
	if len(conditions) < len(spec.MatchConditions) {
		made.conditions = matcher
		return made, nil
	}
	if len(conditions) == 0 {
		matcher = nil
	}
	for i, v := range spec.Validations {
		if !known(s.validations[i]) {
			continue
		}
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		var message cel.ExpressionAccessor
		if v.MessageExpression != "" && !to.secret && s.messages[i]&to.unknown == 0 { // else the server falls back to the message
			message = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
		messages = append(messages, message)
	}
	for i, a := range spec.AuditAnnotations {
		if known(s.annotations[i]) {
			annotations = append(annotations, &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression})
		}
	}
	declaredByMessages := cel.OptionalVariableDeclarations{HasParams: declared.HasParams}
	made.Validator = validating.NewValidator(
		composed.CompileCondition(validations, declared, environment.StoredExpressions), matcher,
		composed.CompileCondition(annotations, declared, environment.StoredExpressions),
		composed.CompileCondition(messages, declaredByMessages, environment.StoredExpressions), spec.FailurePolicy, nil)
	return made, nil
}
