package admit

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/entry"
	"github.com/usher-dev/usher/webhook/review"
)

// Policies answers for the rules and for changes of objects that exist.
type Policies struct {
	Facts *cluster.Facts
	// Mapper finds the resources of configured kinds.
	Mapper meta.RESTMapper
	// Controller is the user that usher's own controller is: what it binds is
	// reported and never denied.
	Controller string
	Log        logr.Logger
}

// What is sent to /validate, in CEL.
const (
	notBeingDeleted  = `!has(object.metadata.deletionTimestamp)`
	notBootstrapping = `!(has(object.metadata.labels) && "kubernetes.io/bootstrapping" in object.metadata.labels)`
	// A Scale and a binding have no template to compare; of everything else the
	// spec says what it is.
	specChanged = `oldObject == null || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec`
	// Annotations say what usher's own resources allow to be done to them.
	specOrAnnotationsChanged = specChanged + ` || has(object.metadata.annotations) && ` +
		`(!has(oldObject.metadata.annotations) || object.metadata.annotations != oldObject.metadata.annotations)`
)

// Handler declares the handler of /validate.
func (p *Policies) Handler() Handler {
	return Handler{Handler: review.Handler{Path: "/validate", Decide: p.decide}, Validating: true, Entries: p.entries}
}

// entries fail closed for namespaces that ask for enforcement and open for all
// others; namespaces that are off are not sent, unless they want warnings.
func (p *Policies) entries() []entry.Entry {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	namespaced := []admissionregistrationv1.RuleWithOperations{
		entry.Rule("", "pods", create),
		entry.Rule("", "replicationcontrollers,podtemplates", create, update),
		entry.Rule("", "services,persistentvolumeclaims", update),
		entry.Rule("apps", "deployments,replicasets,statefulsets,daemonsets", create, update),
		entry.Rule("apps", "deployments/scale,replicasets/scale,statefulsets/scale", update),
		entry.Rule("batch", "jobs,cronjobs", create, update),
		entry.Rule("rbac.authorization.k8s.io", "rolebindings", create, update),
	}
	namespaced = append(namespaced, p.templateRules()...)
	own := ownRules()
	bindings := entry.Rule("rbac.authorization.k8s.io", "clusterrolebindings", create, update)
	cluster := admissionregistrationv1.ClusterScope
	bindings.Scope = &cluster

	conditions := []admissionregistrationv1.MatchCondition{
		entry.Condition("not-being-deleted", notBeingDeleted),
		entry.Condition("not-bootstrapping", notBootstrapping),
		entry.Condition("not-judged-as-its-controller", notJudgedAsItsController),
		entry.Condition("spec-changed", specChanged),
	}
	ownConditions := slices.Clone(conditions)
	ownConditions[len(ownConditions)-1].Expression = specOrAnnotationsChanged
	levels := finding.LevelNames()
	webhook := func(name string, rules []admissionregistrationv1.RuleWithOperations, policy admissionregistrationv1.FailurePolicyType, labels ...entry.LabelRequirement) entry.Entry {
		return entry.Entry{Name: name, Rules: rules, MatchConditions: conditions, NamespaceLabels: labels, FailurePolicy: policy}
	}
	return []entry.Entry{
		webhook("enforced.policy.usher.dev", namespaced, admissionregistrationv1.Fail, entry.In(config.EnforceLabel, levels...)),
		webhook("default.policy.usher.dev", namespaced, admissionregistrationv1.Ignore, entry.NotIn(config.EnforceLabel, append(levels, "off")...)),
		{
			Name: "resources.policy.usher.dev", Rules: own, MatchConditions: ownConditions,
			NamespaceLabels: []entry.LabelRequirement{entry.NotIn(config.EnforceLabel, "off")}, FailurePolicy: admissionregistrationv1.Ignore,
		},
		webhook("warned.policy.usher.dev", slices.Concat(namespaced, own), admissionregistrationv1.Ignore, entry.In(config.EnforceLabel, "off"), entry.In(config.WarnLabel, levels...)),
		{
			Name: "cluster.policy.usher.dev", Rules: []admissionregistrationv1.RuleWithOperations{bindings},
			MatchConditions: conditions, FailurePolicy: admissionregistrationv1.Ignore,
		},
	}
}

// ownRules are those of usher's custom resources. They fail open everywhere:
// their controllers judge them again, and an outage of usher must not keep
// clusters from being mended.
func ownRules() []admissionregistrationv1.RuleWithOperations {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	resources, scale := entry.Rule(etcdv1beta2.GroupName, "etcdclusters,etcdbackups,etcdrestores", create, update), entry.Rule(etcdv1beta2.GroupName, "etcdclusters/scale", update)
	resources.APIVersions, scale.APIVersions = []string{etcdv1beta2.GroupVersion.Version}, []string{etcdv1beta2.GroupVersion.Version}
	return []admissionregistrationv1.RuleWithOperations{resources, scale, entry.Rule(samplecrdv1.GroupName, "networks", create, update)}
}

// templateRules are those of the configured kinds that hold a pod template. A
// kind that the cluster does not have yet is registered when it has it and the
// registration is written next.
func (p *Policies) templateRules() []admissionregistrationv1.RuleWithOperations {
	var rules []admissionregistrationv1.RuleWithOperations
	for _, t := range p.Facts.Configuration.Current().Policies.PodTemplates {
		mapping, err := p.Mapper.RESTMapping(schema.GroupKind{Group: t.Group, Kind: t.Kind})
		if err != nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
			p.Log.Info("kind with a pod template not registered", "group", t.Group, "kind", t.Kind, "error", err)
			continue
		}
		r := entry.Rule(t.Group, mapping.Resource.Resource, admissionregistrationv1.Create, admissionregistrationv1.Update)
		r.APIVersions = []string{"*"}
		rules = append(rules, r)
	}
	return rules
}

// decide judges an object, and on UPDATE the change.
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
	return render(v), nil
}

// lenient says whether a request is reported on and never denied: what usher's
// own controller writes, and what has an owner reference in a namespace that is
// pinned to a version in which that exempted it.
func (p *Policies) lenient(req *review.Request, levels config.Namespace) bool {
	return p.Controller != "" && req.UserInfo.Username == p.Controller ||
		!levels.Pin.Includes(ownersJudged) && claimsController(req.Object)
}
