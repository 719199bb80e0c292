package webhook

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies/transition"
)

// Policies answers for the rules and for changes of objects that exist.
type Policies struct {
	Namespaces    *Namespaces
	Configuration *Configuration
	Injection     *Injection
	Transitions   *transition.Table
	// Mapper finds the resources of configured kinds.
	Mapper meta.RESTMapper
	// Reader is not a cache: it reads what a rule or a scale needs.
	Reader client.Reader
	// Server is the API server's version, nil where it is not known.
	Server func() *version.Version
	// Controller is the user that usher's own controller is: what it binds is
	// reported and never denied.
	Controller string
	// Beside is what stands beside the workloads that are judged.
	Beside Beside

	pages pages
}

// What is sent to /validate, in CEL.
const (
	notBeingDeleted  = `!has(object.metadata.deletionTimestamp)`
	notBootstrapping = `!(has(object.metadata.labels) && "kubernetes.io/bootstrapping" in object.metadata.labels)`
	// What a built-in controller makes was judged as its workload. To judge it
	// again would deny what an UPDATE was allowed to keep, and leave a rollout
	// half done. Of what other controllers make nobody has seen the template.
	notJudgedAsItsController = `!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, ` +
		`has(o.controller) && o.controller && o.apiVersion in ["apps/v1", "batch/v1"])`
	// A Scale and a binding have no template to compare; of everything else the
	// spec says what it is.
	specChanged = `oldObject == null || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec`
	// Annotations say what usher's own resources allow to be done to them.
	specOrAnnotationsChanged = specChanged + ` || has(object.metadata.annotations) && ` +
		`(!has(oldObject.metadata.annotations) || object.metadata.annotations != oldObject.metadata.annotations)`
)

// Handler declares the handler of /validate. Namespaces that ask for
// enforcement fail closed, all others open; those that are off are not sent,
// unless they want to be warned.
func (p *Policies) Handler() Handler {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	namespaced := []admissionregistrationv1.RuleWithOperations{
		rule("", "pods", create),
		rule("", "replicationcontrollers,podtemplates", create, update),
		rule("", "services,persistentvolumeclaims", update),
		rule("apps", "deployments,replicasets,statefulsets,daemonsets", create, update),
		rule("apps", "deployments/scale,replicasets/scale,statefulsets/scale", update),
		rule("batch", "jobs,cronjobs", create, update),
		rule("rbac.authorization.k8s.io", "rolebindings", create, update),
	}
	namespaced = append(namespaced, p.templateRules()...)
	own := ownRules()
	bindings := rule("rbac.authorization.k8s.io", "clusterrolebindings", create, update)
	cluster := admissionregistrationv1.ClusterScope
	bindings.Scope = &cluster

	conditions := []admissionregistrationv1.MatchCondition{
		{Name: "not-being-deleted", Expression: notBeingDeleted},
		{Name: "not-bootstrapping", Expression: notBootstrapping},
		{Name: "not-judged-as-its-controller", Expression: notJudgedAsItsController},
		{Name: "spec-changed", Expression: specChanged},
	}
	ownConditions := slices.Clone(conditions)
	ownConditions[len(ownConditions)-1].Expression = specOrAnnotationsChanged
	levels := config.LevelNames()
	entry := func(name string, rules []admissionregistrationv1.RuleWithOperations, policy admissionregistrationv1.FailurePolicyType, labels ...LabelRequirement) Entry {
		return Entry{Name: name, Rules: rules, MatchConditions: conditions, NamespaceLabels: labels, FailurePolicy: policy}
	}
	return Handler{
		Path:       "/validate",
		Validating: true,
		Entries: []Entry{
			entry("enforced.policy.usher.dev", namespaced, admissionregistrationv1.Fail, In(config.EnforceLabel, levels...)),
			entry("default.policy.usher.dev", namespaced, admissionregistrationv1.Ignore, NotIn(config.EnforceLabel, append(levels, "off")...)),
			{
				Name: "resources.policy.usher.dev", Rules: own, MatchConditions: ownConditions,
				NamespaceLabels: []LabelRequirement{NotIn(config.EnforceLabel, "off")}, FailurePolicy: admissionregistrationv1.Ignore,
			},
			entry("warned.policy.usher.dev", slices.Concat(namespaced, own), admissionregistrationv1.Ignore, In(config.EnforceLabel, "off"), In(config.WarnLabel, levels...)),
			{
				Name: "cluster.policy.usher.dev", Rules: []admissionregistrationv1.RuleWithOperations{bindings},
				MatchConditions: conditions, FailurePolicy: admissionregistrationv1.Ignore,
			},
		},
		Decide: p.decide,
	}
}

// ownRules are those of usher's custom resources. They fail open everywhere:
// their controllers judge them again, and an outage of usher must not keep
// clusters from being mended.
func ownRules() []admissionregistrationv1.RuleWithOperations {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	resources, scale := rule(etcdv1beta2.GroupName, "etcdclusters,etcdbackups,etcdrestores", create, update), rule(etcdv1beta2.GroupName, "etcdclusters/scale", update)
	resources.APIVersions, scale.APIVersions = []string{etcdv1beta2.GroupVersion.Version}, []string{etcdv1beta2.GroupVersion.Version}
	return []admissionregistrationv1.RuleWithOperations{resources, scale, rule(samplecrdv1.GroupName, "networks", create, update)}
}

// templateRules are those of the configured kinds that hold a pod template. A
// kind that the cluster does not have yet is registered when it has it and the
// registration is written next.
func (p *Policies) templateRules() []admissionregistrationv1.RuleWithOperations {
	var rules []admissionregistrationv1.RuleWithOperations
	for _, t := range p.Configuration.current.Load().Policies.PodTemplates {
		mapping, err := p.Mapper.RESTMapping(schema.GroupKind{Group: t.Group, Kind: t.Kind})
		if err != nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
			p.Configuration.log.Info("kind with a pod template not registered", "group", t.Group, "kind", t.Kind, "error", err)
			continue
		}
		r := rule(t.Group, mapping.Resource.Resource, admissionregistrationv1.Create, admissionregistrationv1.Update)
		r.APIVersions = []string{"*"}
		rules = append(rules, r)
	}
	return rules
}

// decide judges an object, and on UPDATE the change.
func (p *Policies) decide(ctx context.Context, req *Request) (*Response, error) {
	current := p.Configuration.current.Load()
	levels, err := p.levels(ctx, current, req.Namespace)
	if err != nil {
		return nil, err
	}
	evaluator, err := current.evaluator(levels.Pin)
	if err != nil {
		return nil, err
	}
	s := &subject{policies: p, req: req, evaluator: evaluator, current: current}
	if problem, err := s.read(ctx); problem != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return deny(*problem), nil
	}
	v := &judgement{levels: levels, custom: s.custom(), lenient: p.Controller != "" && req.UserInfo.Username == p.Controller}
	v.findings(s.judge(ctx))
	if err := s.changes(v); err != nil {
		return nil, err
	}
	if s.kind == "EtcdCluster" && len(v.denials) == 0 {
		v.warnings = append(v.warnings, absentSecrets(ctx, p.Reader, req.Namespace, s.was, s.is)...)
	}
	return v.response(), nil
}

// levels are those of the object's namespace; cluster-scoped objects have the
// defaults. A label that is no level is told when it is set; here the default
// stands in for it.
func (p *Policies) levels(ctx context.Context, current *configured, namespace string) (config.Namespace, error) {
	var labels map[string]string
	if namespace != "" {
		var err error
		if labels, err = p.Namespaces.Labels(ctx, namespace); err != nil {
			return config.Namespace{}, err
		}
	}
	levels, _ := config.FromLabels(labels, current.Policies)
	return levels, nil
}
