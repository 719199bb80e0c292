package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/injector"
)

// Networks answers for pods that declare Networks, and for the workloads that
// make them.
type Networks struct {
	// Reader is not a cache: a pod waits for what is there now, and of Networks
	// there is none.
	Reader        client.Reader
	Namespaces    *Namespaces
	Configuration *Configuration
	// OwnNamespace is usher's own.
	OwnNamespace string
}

// What is sent of those that declare Networks, in CEL.
var (
	podDeclares      = declares("object")
	templateDeclares = `(has(` + podTemplate + `.metadata) && ` + declares(podTemplate) + `)`
	ownNetwork       = has("object", injector.OwnNetworkKey)

	// The Deployment controller writes Deployments all the time, and shall go on
	// while usher is down.
	templateOrAskChanged = `oldObject == null || object.spec.template != oldObject.spec.template || ` +
		`!` + has("oldObject", injector.OwnNetworkKey) + ` || object.metadata.annotations["` + injector.OwnNetworkKey + `"] != oldObject.metadata.annotations["` + injector.OwnNetworkKey + `"]`
)

func has(object, annotation string) string {
	return `(has(` + object + `.metadata.annotations) && "` + annotation + `" in ` + object + `.metadata.annotations)`
}

func declares(object string) string { return has(object, injector.NetworkAnnotation) }

// Pods is the handler of /attach: it has Multus attach a pod to the Networks
// that it declares. A pod that came without them would be wrong, so its entry
// fails closed; no other pod is sent.
func (n *Networks) Pods() Handler {
	return Handler{
		Path:  "/attach",
		Kinds: []string{"Pod"},
		Entries: []Entry{{
			Name:            "pods.networks.usher.dev",
			Rules:           []admissionregistrationv1.RuleWithOperations{rule("", "pods", admissionregistrationv1.Create)},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "declares-networks", Expression: podDeclares}},
			FailurePolicy:   admissionregistrationv1.Fail,
		}},
		Decide: func(ctx context.Context, req *Request) (*Response, error) {
			d, err := n.attach(ctx, req, req.Object)
			if err != nil {
				return nil, err
			}
			return networksResponse(d), nil
		},
	}
}

// Workloads is the handler of /attach-workloads: it declares a Deployment's own
// Network in its pod template, and warns of what its pods would be denied for.
// Only what is changed fails closed.
func (n *Networks) Workloads() Handler {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	condition := func(name, expression string) admissionregistrationv1.MatchCondition {
		return admissionregistrationv1.MatchCondition{Name: name, Expression: expression}
	}
	uncontrolled := condition("has-no-controller", hasNoController)
	return Handler{
		Path:  "/attach-workloads",
		Kinds: []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicaSet", "Job"},
		Entries: []Entry{
			{
				Name: "workloads.networks.usher.dev",
				Rules: []admissionregistrationv1.RuleWithOperations{
					rule("apps", "deployments,statefulsets,daemonsets", create, update), rule("batch", "cronjobs", create, update),
					rule("apps", "replicasets", create), rule("batch", "jobs", create),
				},
				MatchConditions: []admissionregistrationv1.MatchCondition{
					condition("declares-networks", templateDeclares), condition("does-not-speak-of-its-own", "!"+ownNetwork), uncontrolled,
					condition("template-changed", `oldObject == null || object.spec != oldObject.spec`),
				},
				FailurePolicy: admissionregistrationv1.Ignore,
			},
			{
				Name:            "deployments.own-network.usher.dev",
				Rules:           []admissionregistrationv1.RuleWithOperations{rule("apps", "deployments", create, update)},
				MatchConditions: []admissionregistrationv1.MatchCondition{condition("speaks-of-its-own", ownNetwork), condition("template-or-annotation-changed", templateOrAskChanged)},
				FailurePolicy:   admissionregistrationv1.Fail,
			},
			{
				Name:            "labelled-namespaces.own-network.usher.dev",
				Rules:           []admissionregistrationv1.RuleWithOperations{rule("apps", "deployments", create)},
				NamespaceLabels: []LabelRequirement{Has(injector.OwnNetworkKey), NotIn(injector.OwnNetworkKey, "false")},
				MatchConditions: []admissionregistrationv1.MatchCondition{condition("does-not-speak-of-its-own", "!"+ownNetwork), uncontrolled},
				FailurePolicy:   admissionregistrationv1.Fail,
			},
		},
		Decide: n.workload,
	}
}

// attach decides about a pod, or about the pods of a workload.
func (n *Networks) attach(ctx context.Context, req *Request, object []byte, known ...string) (*injector.Decision, error) {
	r := injector.AttachRequest{
		Object: object, Kind: req.Kind.Kind, Namespace: req.Namespace, OwnNamespace: n.OwnNamespace,
		Backend: n.Configuration.current.Load().Networks.Backend, Networks: map[string]injector.Network{},
	}
	names, problem := injector.Declared(r.Kind, object)
	if problem != nil {
		return injector.Attach(r), nil // which says so
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			r.Networks[name] = injector.Network{}
			continue
		}
		network, found, err := n.find(ctx, req.Namespace, name, object)
		if err != nil {
			return nil, err
		}
		if found {
			r.Networks[name] = network
		}
	}
	return injector.Attach(r), nil
}

// workload declares a Deployment's own Network and tries its pods' attachment.
func (n *Networks) workload(ctx context.Context, req *Request) (*Response, error) {
	own := injector.Own{}
	if req.Kind.Kind == "Deployment" {
		labels, err := n.labels(ctx, req)
		if err != nil {
			return nil, err
		}
		var problem *injector.Problem
		if own, problem = injector.OwnNetwork(req.Object, req.OldObject, labels); problem != nil {
			return deny(*problem), nil
		}
	}
	if own.Begins {
		problem, err := n.foreign(ctx, req.Namespace, own.Network, req.Object)
		if err != nil {
			return nil, err
		}
		if problem != nil {
			return deny(*problem), nil
		}
	}
	object, err := own.Patch.Apply(req.Object)
	if err != nil {
		return nil, fmt.Errorf("declaring the own Network: %w", err)
	}
	// It is the controller's to make, once the Deployment is there.
	d, err := n.attach(ctx, req, object, own.Network)
	if err != nil {
		return nil, err
	}
	res := networksResponse(d)
	res.Allowed, res.Patch, res.Causes, res.Message, res.Warnings = true, own.Patch, nil, "", slices.Concat(own.Warnings, d.Warnings)
	if d.Denied {
		res.Warnings = append(res.Warnings, "its pods will be denied: "+d.Message())
	}
	if len(own.Patch) > 0 {
		res.Reason = string(injector.NetworkDeclared)
		res.Audit["reason"] = res.Reason
	}
	return res, nil
}

// labels are those of a new Deployment's namespace. Only what asks is sent: if
// nothing asks, the namespace's label is newer than the cache.
func (n *Networks) labels(ctx context.Context, req *Request) (map[string]string, error) {
	labels, err := n.Namespaces.Labels(ctx, req.Namespace)
	if err != nil || labels[injector.OwnNetworkKey] != "" || len(req.OldObject) > 0 {
		return labels, err
	}
	own, problem := injector.OwnNetwork(req.Object, nil, labels)
	if names, _ := injector.Declared(req.Kind.Kind, req.Object); problem != nil || own.Asked || len(names) > 0 {
		return labels, nil
	}
	return n.Namespaces.Refresh(ctx, req.Namespace)
}

// networksResponse is a decision about Networks as the API server gets it.
func networksResponse(d *injector.Decision) *Response {
	res := response(d)
	var networks []string
	for _, o := range d.Outcomes {
		if o.Network != "" {
			networks = append(networks, o.Network+"="+string(o.Reason))
		}
	}
	if len(networks) > 0 {
		res.Audit["networks"] = strings.Join(networks, ",")
	}
	return res
}
