package handlers

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// Policies handles the rules, and changes of existing objects.
type Policies struct {
	Facts *cluster.Facts
	// Mapper maps configured kinds to resources.
	Mapper meta.RESTMapper
	// Controller is the user of usher's own controller: findings on its objects
	// are reported but never denied.
	Controller string
	// Authenticated is true if only the API server can send reviews.
	Authenticated bool
	Log           logr.Logger
}

// Requests to /validate, in CEL.
const (
	notBeingDeleted  = `!has(object.metadata.deletionTimestamp)`
	notBootstrapping = `!(has(object.metadata.labels) && "kubernetes.io/bootstrapping" in object.metadata.labels)`
	// A Scale and a binding have no template to compare; for other kinds the rules
	// depend only on the spec.
	specChanged = `oldObject == null || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec`
	// On usher's own resources, annotations give consent to actions.
	specOrAnnotationsChanged = specChanged + ` || has(object.metadata.annotations) && ` +
		`(!has(oldObject.metadata.annotations) || object.metadata.annotations != oldObject.metadata.annotations)`
)

// Handler returns the handler of /validate.
func (p *Policies) Handler() Handler {
	return Handler{Handler: review.Handler{Path: "/validate", Decide: p.decide}, Validating: true, Webhooks: p.entries}
}

// entries fail closed for namespaces that ask for enforcement, and open for all
// others. Changes of replicas alone fail open everywhere, so that people and
// autoscalers can scale during an outage. The entries do not select namespaces
// with the level off, unless these want warnings.
func (p *Policies) entries() []webhookspec.Webhook {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	namespaced := []admissionregistrationv1.RuleWithOperations{
		webhookspec.Rule("", "pods", create),
		webhookspec.Rule("", "replicationcontrollers,podtemplates", create, update),
		webhookspec.Rule("", "services,persistentvolumeclaims", update),
	}
	for _, rule := range webhookspec.Rules(kinds.With(kinds.PropagatesOptIn, 0), create, update) {
		namespaced = append(namespaced, rule)
		namespaced = append(namespaced, scaleRules(rule.APIGroups[0])...)
	}
	roles, clusterRoles := "rolebindings", "clusterrolebindings"
	if p.Facts.Configuration.Current().Evaluator.Judges("rbac.authorization.k8s.io/v1", "Role") { // a group that is off by default does
		roles, clusterRoles = "rolebindings,roles", "clusterrolebindings,clusterroles"
	}
	namespaced = append(namespaced, webhookspec.Rule("rbac.authorization.k8s.io", roles, create, update))
	custom := p.templateRules()
	namespaced = append(namespaced, custom...)
	own := ownRules()
	bindings := webhookspec.Rule("rbac.authorization.k8s.io", clusterRoles, create, update)
	cluster := admissionregistrationv1.ClusterScope
	bindings.Scope = &cluster

	levels := finding.LevelNames()
	enforced := webhookspec.In(wellknown.LabelEnforce, levels...)
	changed := webhookspec.Condition("spec-changed", specChanged)
	return []webhookspec.Webhook{
		{
			Name: "enforced.policy.usher.dev", Rules: apartFromScale(namespaced), MatchConditions: judged(changesMore),
			NamespaceLabels: []webhookspec.LabelRequirement{enforced}, FailurePolicy: admissionregistrationv1.Fail,
		},
		{
			Name: "scaled.policy.usher.dev", Rules: scalingRules(custom), MatchConditions: judged(changed, changesOnlyReplicas),
			NamespaceLabels: []webhookspec.LabelRequirement{enforced}, FailurePolicy: admissionregistrationv1.Ignore,
		},
		{
			Name: "default.policy.usher.dev", Rules: namespaced, MatchConditions: judged(changed),
			NamespaceLabels: []webhookspec.LabelRequirement{webhookspec.NotIn(wellknown.LabelEnforce, append(levels, "off")...)}, FailurePolicy: admissionregistrationv1.Ignore,
		},
		{
			Name: "resources.policy.usher.dev", Rules: own, MatchConditions: judged(webhookspec.Condition("spec-changed", specOrAnnotationsChanged)),
			NamespaceLabels: []webhookspec.LabelRequirement{webhookspec.NotIn(wellknown.LabelEnforce, "off")}, FailurePolicy: admissionregistrationv1.Ignore,
		},
		{
			Name: "warned.policy.usher.dev", Rules: slices.Concat(namespaced, own), MatchConditions: judged(changed),
			NamespaceLabels: []webhookspec.LabelRequirement{webhookspec.In(wellknown.LabelEnforce, "off"), webhookspec.In(wellknown.LabelWarn, levels...)}, FailurePolicy: admissionregistrationv1.Ignore,
		},
		{
			Name: "cluster.policy.usher.dev", Rules: []admissionregistrationv1.RuleWithOperations{bindings},
			MatchConditions: judged(changed), FailurePolicy: admissionregistrationv1.Ignore,
		},
	}
}

// judged returns the conditions of objects that usher judges, and further ones.
func judged(further ...admissionregistrationv1.MatchCondition) []admissionregistrationv1.MatchCondition {
	return append([]admissionregistrationv1.MatchCondition{
		webhookspec.Condition("not-being-deleted", notBeingDeleted),
		webhookspec.Condition("not-bootstrapping", notBootstrapping),
		webhookspec.Condition("not-judged-as-its-controller", notJudgedAsItsController),
	}, further...)
}

// ownRules are the rules of usher's custom resources. They fail open
// everywhere: their controllers validate the objects again, and an outage of
// usher must not block the repair of clusters.
func ownRules() []admissionregistrationv1.RuleWithOperations {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	resources, scale := webhookspec.Rule(etcdv1beta2.GroupName, "etcdclusters,etcdbackups,etcdrestores", create, update), webhookspec.Rule(etcdv1beta2.GroupName, "etcdclusters/scale", update)
	resources.APIVersions, scale.APIVersions = []string{etcdv1beta2.GroupVersion.Version}, []string{etcdv1beta2.GroupVersion.Version}
	return []admissionregistrationv1.RuleWithOperations{resources, scale, webhookspec.Rule(samplecrdv1.GroupName, "networks", create, update)}
}

// templateRules are the rules for the configured kinds with a pod template. A
// kind that the cluster does not have yet is registered with the next update of
// the registration after it appears.
func (p *Policies) templateRules() []admissionregistrationv1.RuleWithOperations {
	var rules []admissionregistrationv1.RuleWithOperations
	for _, t := range p.Facts.Configuration.Current().Policies.PodTemplates {
		mapping, err := p.Mapper.RESTMapping(schema.GroupKind{Group: t.Group, Kind: t.Kind})
		if err != nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
			p.Log.Info("kind with a pod template not registered", "group", t.Group, "kind", t.Kind, "error", err)
			continue
		}
		r := webhookspec.Rule(t.Group, mapping.Resource.Resource, admissionregistrationv1.Create, admissionregistrationv1.Update)
		r.APIVersions = []string{"*"}
		rules = append(rules, r)
	}
	return rules
}

// decide judges an object, and on UPDATE its change.
func (p *Policies) decide(ctx context.Context, req *review.Request) (*review.Response, error) {
	r := request(req, verdict.Evaluate|verdict.Compare)
	if req.Kind.Kind == "Scale" {
		problem, err := p.Facts.Scale(ctx, &r, req.Resource.Resource)
		if err != nil {
			return nil, err
		}
		if problem != nil {
			return deny(*problem), nil
		}
	}
	r.Lenient = func(levels config.Namespace) bool { return p.lenient(req, levels) }
	v, err := p.Facts.Judge(ctx, r)
	if err != nil {
		return nil, err
	}
	var withheld []string
	if !p.Authenticated {
		withheld = redact(v)
	}
	res := render(v)
	res.Withheld = withheld
	return res, nil
}

// redact removes the names of other objects from the findings: any client that
// reaches the port can send a review of an object in any namespace. It returns
// the findings with the names, for the log.
func redact(v *verdict.Verdict) []string {
	var named []string
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Anonymous != "" {
			named = append(named, f.String())
			f.Message = f.Anonymous
		}
	}
	return named
}

// lenient reports whether a request gets warnings but is never denied: writes
// of usher's own controller, and objects with an owner reference in a namespace
// pinned to a version in which that exempted them.
func (p *Policies) lenient(req *review.Request, levels config.Namespace) bool {
	return p.Controller != "" && req.UserInfo.Username == p.Controller ||
		!levels.Pin.Includes(ownersJudged) && claimsController(req.Object)
}
