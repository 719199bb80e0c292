package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/transition"
)

// A subject is the object a request is about, as it is to be judged: a
// workload as it will be after injection, a Scale as the workload it scales.
type subject struct {
	policies  *Policies
	req       *Request
	evaluator *policies.Evaluator
	current   *configured

	apiVersion, kind string
	is, was          []byte // was is nil on CREATE
	// ofScale says that both are the workload's of a Scale.
	ofScale bool
}

// read finds what to judge.
func (s *subject) read(ctx context.Context) (*injector.Problem, error) {
	req := s.req
	s.kind, s.apiVersion = req.Kind.Kind, schema.GroupVersion{Group: req.Kind.Group, Version: req.Kind.Version}.String()
	s.is, s.was = req.Object, req.OldObject
	if s.kind == "Scale" {
		return s.readScale(ctx)
	}
	if s.kind != "Pod" && injector.Injects(s.apiVersion, s.kind) {
		labels, err := s.policies.Namespaces.Labels(ctx, req.Namespace)
		if err != nil {
			return nil, err
		}
		if s.is, err = s.injected(s.is, labels); err != nil {
			return nil, err
		}
		if s.was != nil {
			if s.was, err = s.injected(s.was, labels); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// injected is the workload with what its pods will get. Where they will be
// denied it is judged as it stands: why they are is said by injection.
func (s *subject) injected(object []byte, labels map[string]string) ([]byte, error) {
	if labels[injector.NamespaceLabel] == "" && !injector.MayAsk(object) {
		return object, nil
	}
	d := injector.Decide(injector.Request{
		Object: object, Kind: s.kind, Namespace: s.req.Namespace, NamespaceLabels: labels, OwnNamespace: s.policies.Injection.OwnNamespace,
		Templates: s.policies.Injection.Templates.Set(), NativeSidecars: s.policies.Injection.NativeSidecars(),
	})
	if d.Denied || len(d.Patch) == 0 {
		return object, nil
	}
	out, err := d.Patch.Apply(object)
	if err != nil {
		return nil, fmt.Errorf("injecting the %s to judge it: %w", s.kind, err)
	}
	return out, nil
}

// custom says that the kind is a configured one.
func (s *subject) custom() bool { return !builtin[s.apiVersion] }

// builtin are the groups whose objects the API server validates itself, by its
// own code or by a schema that knows every field.
var builtin = map[string]bool{"v1": true, "apps/v1": true, "batch/v1": true, "rbac.authorization.k8s.io/v1": true, "samplecrd.k8s.io/v1": true}

// A scalable is a kind whose …/scale is registered.
type scalable struct {
	apiVersion, kind string
	replicas         []string // the field that a Scale sets
}

// scaled are the scalable kinds by their resources.
var scaled = map[string]scalable{
	"deployments":  {"apps/v1", "Deployment", []string{"spec", "replicas"}},
	"replicasets":  {"apps/v1", "ReplicaSet", []string{"spec", "replicas"}},
	"statefulsets": {"apps/v1", "StatefulSet", []string{"spec", "replicas"}},
	"etcdclusters": {etcdv1beta2.GroupVersion.String(), "EtcdCluster", []string{"spec", "size"}},
}

// readScale reads the object that is scaled and sets its replicas.
func (s *subject) readScale(ctx context.Context) (*injector.Problem, error) {
	of, ok := scaled[s.req.Resource.Resource]
	if !ok {
		return nil, fmt.Errorf("a Scale of %s: nobody asked to be sent it", s.req.Resource.Resource)
	}
	var old, is struct {
		Spec struct {
			Replicas int64 `json:"replicas"`
		} `json:"spec"`
	}
	if err := errors.Join(json.Unmarshal(s.req.Object, &is), json.Unmarshal(s.req.OldObject, &old)); err != nil {
		return &injector.Problem{Reason: injector.Undecodable, Field: "spec.replicas", Detail: err.Error()}, nil
	}
	workload := &unstructured.Unstructured{}
	workload.SetAPIVersion(of.apiVersion)
	workload.SetKind(of.kind)
	err := s.policies.Reader.Get(ctx, client.ObjectKey{Namespace: s.req.Namespace, Name: s.req.Name}, workload)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: reading the %s that is scaled: %w", errUnavailable, of.kind, err)
	}
	s.kind, s.apiVersion, s.ofScale = of.kind, of.apiVersion, true
	replicas := func(n int64) ([]byte, error) {
		if err := unstructured.SetNestedField(workload.Object, n, of.replicas...); err != nil {
			return nil, err
		}
		return workload.MarshalJSON()
	}
	if s.was, err = replicas(old.Spec.Replicas); err != nil {
		return nil, err
	}
	s.is, err = replicas(is.Spec.Replicas)
	return nil, err
}

// judge returns the findings of the object, and which of them the change
// brought: on CREATE all.
func (s *subject) judge(ctx context.Context) (all, fresh []policies.Finding) {
	beside := s.evaluator.Beside(s.kind)
	in := policies.Input{
		Server: s.policies.Server(), Features: s.current.Policies.FeatureGates, Update: s.was != nil, Validated: true,
		Others: s.policies.nearby(ctx, s.req.Namespace, slices.Clone(beside)),
	}
	is := s.evaluator.Decode(s.apiVersion, s.kind, s.is)
	all = s.evaluator.Evaluate(is, in)
	if slices.ContainsFunc(all, restsOnOthers) {
		in.Others = s.policies.others(ctx, s.req.Namespace, beside...)
		all = s.evaluator.Evaluate(is, in)
	}
	if s.was == nil || len(all) == 0 {
		return all, all
	}
	return all, policies.Introduced(s.evaluator.Evaluate(s.evaluator.Decode(s.apiVersion, s.kind, s.was), in), all)
}

// restsOnOthers reports whether a finding is of a rule that looks at what is
// kept: what stood there may be gone, and is looked for where it is known.
func restsOnOthers(f policies.Finding) bool {
	rule, err := policies.Lookup(f.Rule)
	return err == nil && len(rule.Beside) > 0
}

// changes judges what an UPDATE does to the object.
func (s *subject) changes(v *judgement) error {
	if s.was == nil || s.policies.Transitions.Kind(s.apiVersion, s.kind) == nil {
		return nil
	}
	was, is, err := transition.DecodeBoth(s.was, s.is)
	if err != nil {
		return nil // what does not decode is a finding already
	}
	for _, object := range []map[string]any{is, was} {
		object["apiVersion"], object["kind"] = s.apiVersion, s.kind
	}
	options := transition.Options{}
	if server := s.policies.Server(); server != nil {
		options.Server = transition.Version{Major: int(server.Major()), Minor: int(server.Minor())}
	}
	diff, err := s.policies.Transitions.CompareObjects(was, is, options)
	if err != nil {
		return fmt.Errorf("comparing the old %s with the new: %w", s.kind, err)
	}
	v.changes(diff)
	return nil
}
