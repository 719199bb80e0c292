package policies_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
	"github.com/usher-dev/usher/policies/rules"
)

func evaluator(t *testing.T, o policies.Options) *policies.Evaluator {
	t.Helper()
	e, err := rules.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestPodRulesReachConfiguredTemplates(t *testing.T) {
	e := evaluator(t, policies.Options{Only: []string{"probe-identical"}, Templates: []policies.TemplatePath{
		{Group: "argoproj.io", Kind: "Rollout", Path: "spec.template"},
		{Group: "example.com", Kind: "Pool", Path: "spec.pools[*].template"},
	}})
	for name, c := range map[string]struct {
		apiVersion, kind, raw string
		want                  []string
	}{
		"one template": {"argoproj.io/v1alpha1", "Rollout", `{"spec":{"template":{"spec":{"containers":[{"name":"a","livenessProbe":{"tcpSocket":{"port":80}},"readinessProbe":{"tcpSocket":{"port":80}}}]}}}}`,
			[]string{"probe-identical spec.template.spec.containers[0].livenessProbe"}},
		"a list of them": {"example.com/v1", "Pool", `{"spec":{"pools":[{},{"template":{"spec":{"containers":[{"name":"a","livenessProbe":{"tcpSocket":{"port":80}},"readinessProbe":{"tcpSocket":{"port":80}}}]}}}]}}`,
			[]string{"probe-identical spec.pools[1].template.spec.containers[0].livenessProbe"}},
		"one that does not decode": {"argoproj.io/v1alpha1", "Rollout", `{"spec":{"template":{"spec":{"containers":7}}}}`,
			nil},
		"none": {"argoproj.io/v1alpha1", "Rollout", `{"spec":"x"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if !e.Judges(c.apiVersion, c.kind) {
				t.Fatal("the kind is not judged")
			}
			var got []string
			for _, f := range e.Evaluate(e.Decode(c.apiVersion, c.kind, []byte(c.raw)), policies.Input{}) {
				got = append(got, f.Rule+" "+f.Field)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersionsAreReadAndCompared(t *testing.T) {
	for text, ok := range map[string]bool{"latest": true, "v0.1": true, "v1.10": true, "0.1": false, "v1": false, "v01.1": false, "v1.x": false, "": false} {
		if _, err := release.Parse(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	if (release.Version{Major: 0, Minor: 9}).Includes(release.Version{Major: 0, Minor: 10}) {
		t.Error("v0.9 includes v0.10")
	}
}

func TestAnExemptFindingSaysWhy(t *testing.T) {
	e := evaluator(t, policies.Options{Only: []string{"job-no-deadline"}, Exemptable: func(string) bool { return true }})
	raw := `{"metadata":{"name":"a","annotations":{"policy.usher.dev/exempt":"job-no-deadline","policy.usher.dev/exempt-reason":"why"}},"spec":{"template":{"spec":{}}}}`
	found := e.Evaluate(e.Decode("batch/v1", "Job", []byte(raw)), policies.Input{})
	if len(found) != 1 || found[0].Exempt != "why" {
		t.Errorf("findings %+v, want one that is exempt", found)
	}
}

func TestFindingsSayWhatCouldNotBeSeen(t *testing.T) {
	e := evaluator(t, policies.Options{Only: []string{"sts-headless"}})
	o := e.Decode("apps/v1", "StatefulSet", []byte(`{"metadata":{"name":"a"},"spec":{"serviceName":"db"}}`))
	found := e.Evaluate(o, policies.Input{})
	if len(found) != 1 || found[0].Unseen != "usher could not read other objects" {
		t.Errorf("findings %+v", found)
	}
}

// autoscaled lists an autoscaler of the Deployment web.
type autoscaled struct{ e *policies.Evaluator }

func (a autoscaled) List(kind, _ string) ([]*policies.Object, string) {
	if kind != "HorizontalPodAutoscaler" {
		return nil, ""
	}
	return []*policies.Object{a.e.Decode("autoscaling/v2", kind, []byte(`{"metadata":{"name":"web"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`))}, ""
}

func (a autoscaled) Index(kind, namespace string) (*related.Index, string) {
	found, unseen := a.List(kind, namespace)
	return policies.IndexOf(slices.Values(found)), unseen
}

func (a autoscaled) Get(string, string, string) (*policies.Object, string) { return nil, "" }

func TestReplicasThatTheServerFilledInAreNotTheUsers(t *testing.T) {
	e := evaluator(t, policies.Options{Only: []string{"deploy-hpa-replicas"}})
	for name, c := range map[string]struct {
		raw       string
		defaulted bool
		found     int
	}{
		"1 in a file":                       {`{"metadata":{"name":"web"},"spec":{"replicas":1}}`, false, 1},
		"1 in the cluster":                  {`{"metadata":{"name":"web"},"spec":{"replicas":1}}`, true, 0},
		"2 in the cluster":                  {`{"metadata":{"name":"web"},"spec":{"replicas":2}}`, true, 1},
		"1 that kubectl applied":            {`{"metadata":{"name":"web","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"replicas\":1}}"}},"spec":{"replicas":1}}`, true, 1},
		"1 that kubectl did not apply":      {`{"metadata":{"name":"web","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{}}"}},"spec":{"replicas":1}}`, true, 0},
		"an annotation that cannot be read": {`{"metadata":{"name":"web","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{"}},"spec":{"replicas":1}}`, true, 0},
	} {
		found := e.Evaluate(e.Decode("apps/v1", "Deployment", []byte(c.raw)), policies.Input{Defaulted: c.defaulted, Lister: autoscaled{e}})
		if len(found) != c.found {
			t.Errorf("%s: %d findings, want %d", name, len(found), c.found)
		}
	}
}

// A crowd is many workloads in a namespace.
type crowd []*policies.Object

func (c crowd) List(string, string) ([]*policies.Object, string) { return nil, "" }

func (c crowd) Index(kind, _ string) (*related.Index, string) {
	return policies.IndexOf(slices.Values(slices.DeleteFunc(slices.Clone(c), func(o *policies.Object) bool { return o.Kind != kind }))), ""
}

func (c crowd) Get(string, string, string) (*policies.Object, string) { return nil, "" }

// TestSelectorOverlap_ComparesALimitedNumber of the workloads that share every
// label that a selector requires, and says so.
func TestSelectorOverlap_ComparesALimitedNumber(t *testing.T) {
	e := evaluator(t, policies.Options{Only: []string{"selector-overlap"}})
	workload := func(kind, name, selector string) *policies.Object {
		return e.Decode("apps/v1", kind, []byte(`{"metadata":{"name":"`+name+`"},"spec":{"selector":`+selector+`,"template":{"metadata":{"labels":{"app":"`+name+`","team":"one"}}}}}`))
	}
	among := func(n int) (c crowd) {
		for i := range n {
			kind := "Deployment"
			if i >= 300 {
				kind = "StatefulSet"
			}
			c = append(c, workload(kind, fmt.Sprintf("other-%03d", i), "null"))
		}
		return c
	}
	const said = "selector is team=one, which matches the pods of "
	const names, advice = "Deployment other-000, Deployment other-001, Deployment other-002 and ", " more too: add a label of its own"
	for name, c := range map[string]struct {
		selector           string
		others             int
		message, anonymous string
		incomplete         []string
	}{
		"as many as it compares": {`{"matchLabels":{"team":"one"}}`, 200, said + names + "197" + advice,
			said + "200 other workloads too (kubectl get pods -l 'team=one' lists them): add a label of its own", nil},
		"one more": {`{"matchLabels":{"team":"one"}}`, 201, said + names + "197" + advice + " (usher compared only 200 of 201 workloads)",
			said + "200 other workloads too (kubectl get pods -l 'team=one' lists them): add a label of its own (usher compared only 200 of 201 workloads)",
			[]string{"usher compared only 200 of 201 workloads"}},
		"its own label among many":    {`{"matchLabels":{"team":"one","app":"web"}}`, 1000, "", "", nil},
		"nothing that an index finds": {`{"matchExpressions":[{"key":"team","operator":"NotIn","values":["one"]}]}`, 1000, "", "", []string{"usher compared only 200 of 1000 workloads"}},
	} {
		t.Run(name, func(t *testing.T) {
			var incomplete []string
			found := e.Evaluate(workload("Deployment", "web", c.selector), policies.Input{Lister: among(c.others), Incomplete: func(what string) { incomplete = append(incomplete, what) }})
			var message, anonymous, unseen string
			if len(found) > 0 {
				message, anonymous, unseen = found[0].Message, found[0].Anonymous, found[0].Unseen
			}
			if diff := cmp.Diff([]string{c.message, c.anonymous}, []string{message, anonymous}); diff != "" {
				t.Errorf("the messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.incomplete, incomplete); diff != "" || unseen != "" && unseen != incomplete[0] {
				t.Errorf("incomplete (-want +got):\n%s\nunseen: %q", diff, unseen)
			}
		})
	}
}

func FuzzEveryObjectIsJudged(f *testing.F) {
	f.Add("Deployment", []byte(`{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"1%"}},"template":{"spec":{"containers":[{}]}}}}`))
	f.Add("CronJob", []byte(`{"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"completionMode":"Indexed","successPolicy":{"rules":[{}]}}}}}`))
	f.Add("StatefulSet", []byte(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`))
	e, err := rules.New(policies.Options{})
	if err != nil {
		f.Fatal(err)
	}
	versions := map[string]string{"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1", "ReplicationController": "v1", "Service": "v1"}
	f.Fuzz(func(_ *testing.T, kind string, raw []byte) {
		if version := versions[kind]; version != "" {
			e.Evaluate(e.Decode(version, kind, raw), policies.Input{Features: map[string]bool{"MaxUnavailableStatefulSet": true}})
		}
	})
}

func TestUndecodableObjectHasNoFinding(t *testing.T) {
	e := evaluator(t, policies.Options{})
	o := e.Decode("apps/v1", "Deployment", []byte(`{"spec":7}`))
	if found := e.Evaluate(o, policies.Input{}); o.Decodable() || len(found) > 0 {
		t.Errorf("decodable: %t, found %v", o.Decodable(), found)
	}
}

// TestStatusInARequestHasNoEffect: the API server drops it from a custom
// resource before it validates the object.
func TestStatusInARequestHasNoEffect(t *testing.T) {
	e := evaluator(t, policies.Options{})
	if o := e.Decode("etcd.database.coreos.com/v1beta2", "EtcdCluster", []byte(`{"spec":{"size":3},"status":true}`)); !o.Decodable() {
		t.Errorf("an EtcdCluster with an invalid status: %v", o.Undecodable)
	}
	if o := e.Decode("apps/v1", "Deployment", []byte(`{"spec":{},"status":true}`)); o.Decodable() {
		t.Error("the API server refuses a Deployment with an invalid status")
	}
}

// TestRulesSayWhatTheyLookAtBeside checks that rules declare the kinds that
// they list: an undeclared one is read late.
func TestRulesSayWhatTheyLookAtBeside(t *testing.T) {
	e := evaluator(t, policies.Options{})
	raw := []byte(`{"metadata":{"name":"a","labels":{"a":"b"}},"spec":{"replicas":1,"serviceName":"a","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`)
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} {
		asked := askedKinds{}
		e.Evaluate(e.Decode("apps/v1", kind, raw), policies.Input{Lister: asked})
		said := map[string]bool{}
		for _, k := range e.Lists(kind) {
			said[k] = true
		}
		if diff := cmp.Diff(said, map[string]bool(asked)); diff != "" {
			t.Errorf("%s (-said +asked):\n%s", kind, diff)
		}
	}
}

// askedKinds is a policies.Lister that records the requested kinds.
type askedKinds map[string]bool

func (a askedKinds) List(kind, _ string) ([]*policies.Object, string) {
	a[kind] = true
	return nil, ""
}

func (a askedKinds) Index(kind, _ string) (*related.Index, string) {
	a[kind] = true
	return &related.Index{}, ""
}

func (a askedKinds) Get(kind, _, _ string) (*policies.Object, string) {
	a[kind] = true
	return nil, ""
}
