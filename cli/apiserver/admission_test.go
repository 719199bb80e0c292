package apiserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/verdict"
)

const (
	replicasPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: ["*"], resources: [deployments]}]
  validations:
  - {expression: "object.spec.replicas < 3", message: replicas}
  - {expression: "object.metadata.name != 'web'", messageExpression: "'called ' + object.metadata.name"}
`
	boundPolicy = replicasPolicy + "---" + `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny]}
`
	deployedWeb = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "i:1"}]}}
`
	denied       = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
	warned       = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': "
	notEvaluated = "ValidatingAdmissionPolicy p with binding b was not evaluated once: "
)

// TestAdmit decides about the creation of a Deployment, which two validations of the
// policy deny.
func TestAdmit(t *testing.T) {
	const namespace = "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {stage: dev}}}"
	both := []string{denied + "replicas", denied + "called web"}
	for name, tc := range map[string]struct {
		edit   []string // pairs of what to replace, and by what
		add    string
		object string // instead of the Deployment
		labels map[string]string
		want   []string
		notes  []string
	}{
		"every denial is listed":   {want: both},
		"a policy without binding": {edit: []string{"policyName: p", "policyName: q"}},
		"a warning":                {edit: []string{"[Deny]", "[Warn, Audit]"}, want: []string{warned + "replicas", warned + "called web"}},
		"an audit": {edit: []string{"[Deny]", "[Audit]"},
			notes: []string{"ValidatingAdmissionPolicy p with binding b was violated 2 times, and only writes into the audit log"}},
		"another operation":          {edit: []string{`["*"]`, "[UPDATE]"}},
		"another resource":           {edit: []string{"[deployments]", "[statefulsets]"}},
		"a subresource":              {edit: []string{"[deployments]", "[deployments/scale]"}},
		"a cluster-scoped rule":      {edit: []string{"resources: [deployments]", "resources: [deployments], scope: Cluster"}},
		"another name":               {edit: []string{"resources: [deployments]", "resources: [deployments], resourceNames: [api]"}},
		"an excluded resource":       {edit: []string{"    resourceRules:", "    excludeResourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [\"*\"]}]\n    resourceRules:"}},
		"another label":              {edit: []string{"    resourceRules:", "    objectSelector: {matchLabels: {a: b}}\n    resourceRules:"}},
		"a binding for another kind": {edit: []string{"policyName: p,", "policyName: p, matchResources: {resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [\"*\"], resources: [pods]}]},"}},
		"a match condition":          {edit: []string{"  validations:", "  matchConditions: [{name: a, expression: 'object.metadata.name == \"api\"'}]\n  validations:"}},
		"an equivalent version": {
			edit:   []string{"[apps]", "[autoscaling]", "[deployments]", "[horizontalpodautoscalers]", "object.spec.replicas < 3", "object.spec.maxReplicas < 3 || request.requestKind.version != 'v2'"},
			object: "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}}", want: both,
		},
		"the exact version": {
			edit:   []string{"[apps]", "[autoscaling]", "[deployments]", "[horizontalpodautoscalers]", "    resourceRules:", "    matchPolicy: Exact\n    resourceRules:"},
			object: "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}}",
		},
		"a default of the server": {edit: []string{"object.spec.replicas < 3", "object.spec.strategy.type != 'RollingUpdate'"}, want: both},
		"all subresources":        {edit: []string{"[deployments]", `["deployments/*"]`}, want: both},
		"all resources":           {edit: []string{"[deployments]", `["*/*"]`}, want: both},
		"the other group of events": {
			edit:   []string{"[apps]", `[""]`, "[deployments]", "[events]", "object.spec.replicas < 3", "request.kind.group != ''"},
			object: "{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: web}, eventTime: 2026-01-01T00:00:00.000000Z, type: Normal, reason: a, action: b, reportingController: c/d, reportingInstance: e}", want: both,
		},
		"what the server completes": {
			edit:   []string{"object.spec.replicas < 3", "object.metadata.namespace != 'default' || has(object.status.replicas)"},
			object: deployedWeb + "status: {replicas: 5}\n", want: both,
		},
		"the policies themselves": {edit: []string{"[apps]", `["*"]`, "[deployments]", `["*"]`}, object: strings.Split(boundPolicy, "---")[0]},
		"webhooks": {edit: []string{"[apps]", `["*"]`, "[deployments]", `["*"]`}, object: "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: web}}",
			want: []string{denied + "expression 'object.spec.replicas < 3' resulted in error: no such key: spec", denied + "called web"}},

		"a failure":                  {edit: []string{"object.spec.replicas", "object.spec.none"}, want: []string{denied + "expression 'object.spec.none < 3' resulted in error: no such key: none", denied + "called web"}},
		"an ignored failure":         {edit: []string{"object.spec.replicas", "object.spec.none", "  validations:", "  failurePolicy: Ignore\n  validations:"}, want: both[1:], notes: []string{"ValidatingAdmissionPolicy p with binding b failed once, and ignores failures: expression 'object.spec.none < 3' resulted in error: no such key: none"}},
		"an ignored match condition": {edit: []string{"  validations:", "  failurePolicy: Ignore\n  matchConditions: [{name: a, expression: object.none == 1}]\n  validations:"}, notes: []string{"ValidatingAdmissionPolicy p with binding b failed once, and ignores failures: expression 'object.none == 1' resulted in error: no such key: none"}},

		"the user":              {edit: []string{"object.spec.replicas < 3", "request.userInfo.username == 'a'"}, want: both[1:], notes: []string{notEvaluated + "some of its expressions read request.userInfo"}},
		"the user in a message": {edit: []string{"'called ' +", "request.userInfo.?username.orValue('nobody') +"}, want: []string{denied + "replicas", denied + "failed expression: object.metadata.name != 'web'"}},
		"the user in a condition": {edit: []string{"  validations:", "  matchConditions: [{name: a, expression: 'request.userInfo.username != \"a\"'}]\n  validations:"},
			notes: []string{notEvaluated + "its match conditions read request.userInfo"}},
		"the user in a condition, and another that does not match": {edit: []string{"  validations:", "  matchConditions: [{name: a, expression: 'request.userInfo.username != \"a\"'}, {name: b, expression: 'false'}]\n  validations:"}},
		"the authorizer": {edit: []string{"object.spec.replicas < 3", "authorizer.group('').resource('pods').check('get').allowed()"}, want: both[1:], notes: []string{notEvaluated + "some of its expressions read authorizer"}},

		"a namespace with the labels":   {edit: []string{"    resourceRules:", "    namespaceSelector: {matchLabels: {stage: dev}}\n    resourceRules:"}, add: namespace, want: both},
		"a namespace with others":       {edit: []string{"    resourceRules:", "    namespaceSelector: {matchLabels: {stage: prod}}\n    resourceRules:"}, add: namespace},
		"labels of the command line":    {edit: []string{"    resourceRules:", "    namespaceSelector: {matchLabels: {stage: dev}}\n    resourceRules:"}, labels: map[string]string{"kubernetes.io/metadata.name": "default", "stage": "dev"}, want: both},
		"a namespace by its name":       {edit: []string{"    resourceRules:", "    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}\n    resourceRules:"}, want: both},
		"another namespace by its name": {edit: []string{"    resourceRules:", "    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other, stage: dev}}\n    resourceRules:"}},
		"an unknown namespace":          {edit: []string{"    resourceRules:", "    namespaceSelector: {matchLabels: {stage: dev}}\n    resourceRules:"}, notes: []string{notEvaluated + "it selects namespaces by labels, and theirs are not in the input: add the Namespaces, or pass --namespace-labels"}},
		"a binding in an unknown namespace": {edit: []string{"policyName: p,", "policyName: p, matchResources: {namespaceSelector: {matchLabels: {stage: dev}}},"},
			notes: []string{notEvaluated + "it selects namespaces by labels, and theirs are not in the input: add the Namespaces, or pass --namespace-labels"}},
		"a condition about the namespaceObject, which is always null": {edit: []string{"  validations:", "  matchConditions: [{name: a, expression: namespaceObject == null}]\n  validations:"}, want: both},
		"a known namespaceObject":                                     {edit: []string{"object.spec.replicas < 3", "namespaceObject.metadata.labels.stage != 'dev'"}, add: namespace, want: both},
		"an unknown namespaceObject":                                  {edit: []string{"object.spec.replicas < 3", "namespaceObject.metadata.labels.stage != 'dev'"}, want: both[1:], notes: []string{notEvaluated + "some of its expressions read namespaceObject"}},
		"a Namespace has its own labels": {edit: []string{"[apps]", `[""]`, "[deployments]", "[namespaces]", "    resourceRules:", "    namespaceSelector: {matchLabels: {stage: dev}}\n    resourceRules:", "object.spec.replicas < 3", "namespaceObject != null"},
			object: "{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {stage: dev}}}", want: both},
		"a cluster-scoped object is in no namespace": {edit: []string{"[apps]", `["*"]`, "[deployments]", "[clusterroles]", "    resourceRules:", "    namespaceSelector: {matchLabels: {stage: dev}}\n    resourceRules:", "object.spec.replicas < 3", "request.?namespace.hasValue()"},
			object: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web}}", want: both, notes: nil},
	} {
		t.Run(name, func(t *testing.T) {
			policies := strings.NewReplacer(tc.edit...).Replace(boundPolicy) + tc.add
			object := deployedWeb
			if tc.object != "" {
				object = tc.object
			}
			v, refused := enforcing(t, policies)
			if len(refused) > 0 {
				t.Fatalf("refused: %v", refused)
			}
			got := messages(v, t, object, "", &verdict.Facts{NamespaceLabels: tc.labels})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.notes, v.Unadmitted().Notes()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// enforcing returns a server with the policies in YAML.
func enforcing(t *testing.T, documents string) (*Validator, map[int]string) {
	t.Helper()
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []admission.Manifest
	for i, doc := range strings.Split(documents, "\n---\n") {
		o := parsed(t, doc)
		if o.Kind == "CustomResourceDefinition" {
			if refused, _, err := v.Define(o.JSON); err != nil || len(refused) > 0 {
				t.Fatal(refused, err)
			}
		}
		all = append(all, admission.Manifest{Object: *o, Where: fmt.Sprintf("file:%d", i)})
	}
	return v, v.Enforce(all)
}

func parsed(t *testing.T, doc string) *verdict.Object {
	t.Helper()
	if doc == "" {
		return nil
	}
	raw, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	if err := yaml.Unmarshal(raw, &head); err != nil {
		t.Fatal(err)
	}
	if head.Metadata.Namespace == "" {
		head.Metadata.Namespace = "default"
	}
	return &verdict.Object{APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name, JSON: raw}
}

func messages(v *Validator, t *testing.T, object, old string, f *verdict.Facts) (found []string) {
	t.Helper()
	for _, one := range v.Admit(t.Context(), parsed(t, object), parsed(t, old), false, f) {
		found = append(found, one.Message)
	}
	return found
}

// TestAdmit_Parameters selects the ConfigMaps of a policy.
func TestAdmit_Parameters(t *testing.T) {
	const params = `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: default, labels: {a: b}}, data: {max: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: uno, namespace: default, labels: {a: b}}, data: {max: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: five, namespace: default, labels: {a: b}}, data: {max: "5"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: other, labels: {a: b}}, data: {max: "2"}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.example.com}
spec: {group: example.com, scope: Cluster, names: {plural: limits, kind: Limit}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {data: {type: object, properties: {max: {type: string, default: "2"}}}}}}}]}
---
{apiVersion: example.com/v1, kind: Limit, metadata: {name: cluster}, data: {}}
`
	absent := notEvaluated + "its parameters are not in the input: "
	for name, tc := range map[string]struct {
		kind, ref string
		complete  bool
		ignores   bool
		want      []string
		notes     []string
	}{
		"by name":                         {ref: "name: one, namespace: default", want: []string{denied + "more than 1"}},
		"by name, in the object's":        {ref: "name: one", want: []string{denied + "more than 1"}},
		"by name, not exceeded":           {ref: "name: five, namespace: default"},
		"by labels":                       {ref: "selector: {matchLabels: {a: b}}", want: []string{denied + "more than 1"}},
		"by labels, in another namespace": {ref: "selector: {}, namespace: other", want: []string{denied + "more than 2"}},
		"none":                            {want: []string{denied + "expression 'object.spec.replicas <= int(params.data.max)' resulted in error: no such key: data"}},
		"absent":                          {ref: "name: none", notes: []string{absent + "configmap/none in namespace default"}},
		"absent, by labels":               {ref: "selector: {matchLabels: {a: none}}", notes: []string{absent + "ConfigMap with labels a=none in namespace default"}},
		"absent in the cluster":           {ref: "name: none", complete: true, want: []string{denied + "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"}},
		"absent in the cluster, allowed":  {ref: "name: none, parameterNotFoundAction: Allow", complete: true},
		"absent in the cluster, ignored": {ref: "name: none", complete: true, ignores: true,
			notes: []string{"ValidatingAdmissionPolicy p with binding b failed once, and ignores failures: no params found for policy binding with `Deny` parameterNotFoundAction"}},
		"of a defined kind":                 {kind: "{apiVersion: example.com/v1, kind: Limit}", ref: "name: cluster", want: []string{denied + "more than 2"}},
		"of a defined kind, in a namespace": {kind: "{apiVersion: example.com/v1, kind: Limit}", ref: "name: cluster, namespace: default", want: []string{denied + "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"}},
		"of an unknown kind":                {kind: "{apiVersion: example.com/v1, kind: Other}", ref: "name: cluster", notes: []string{notEvaluated + "the kind of its parameters, example.com/v1 Other, is neither built in nor defined in the input"}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := "{apiVersion: v1, kind: ConfigMap}"
			if tc.kind != "" {
				kind = tc.kind
			}
			ref := ""
			if tc.ref != "" {
				if ref = tc.ref; !strings.Contains(ref, "NotFound") {
					ref += ", parameterNotFoundAction: Deny"
				}
				ref = "paramRef: {" + ref + "}, "
			}
			policies := strings.NewReplacer("spec:\n  match", "spec:\n  paramKind: "+kind+"\n  match", "object.spec.replicas < 3\", message: replicas", "object.spec.replicas <= int(params.data.max)\", messageExpression: \"'more than ' + params.data.max\"",
				"object.metadata.name != 'web'", "true", "policyName: p, ", "policyName: p, "+ref).Replace(boundPolicy)
			if tc.ignores {
				policies = strings.Replace(policies, "  validations:", "  failurePolicy: Ignore\n  validations:", 1)
			}
			v, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			var all []admission.Manifest
			for doc := range strings.SplitSeq(policies+params, "\n---\n") {
				o := parsed(t, doc)
				if o.Kind == "CustomResourceDefinition" {
					if _, _, err := v.Define(o.JSON); err != nil {
						t.Fatal(err)
					}
				}
				all = append(all, admission.Manifest{Object: *o, Stored: tc.complete && strings.HasSuffix(o.Kind, "Binding")})
			}
			if refused := v.Enforce(all); len(refused) > 0 {
				t.Fatalf("refused: %v", refused)
			}
			if diff := cmp.Diff(tc.want, messages(v, t, deployedWeb, "", &verdict.Facts{})); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.notes, v.Unadmitted().Notes()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAdmit_Operations creates, changes and deletes one object.
func TestAdmit_Operations(t *testing.T) {
	policies := strings.NewReplacer("object.spec.replicas < 3", "oldObject == null || object == null || object.metadata.generation == oldObject.metadata.generation", "message: replicas", "message: changed",
		"object.metadata.name != 'web'", "false", "'called ' + object.metadata.name", "request.operation").Replace(boundPolicy)
	v, _ := enforcing(t, policies)
	four := strings.Replace(deployedWeb, "replicas: 3", "replicas: 4", 1)
	for name, tc := range map[string]struct {
		object, old string
		want        []string
	}{
		"create":                       {deployedWeb, "", []string{denied + "CREATE"}},
		"update":                       {deployedWeb, deployedWeb, []string{denied + "UPDATE"}},
		"change":                       {four, deployedWeb, []string{denied + "changed", denied + "UPDATE"}},
		"delete":                       {"", deployedWeb, []string{denied + "DELETE"}},
		"change what was never stored": {four, strings.Replace(deployedWeb, "{a: b}}\n", "{a: c}}\n", 1), []string{denied + "CREATE"}},
		"what does not decode":         {strings.Replace(deployedWeb, "replicas: 3", "replicas: many", 1), "", nil},
	} {
		if diff := cmp.Diff(tc.want, messages(v, t, tc.object, tc.old, &verdict.Facts{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAdmit_RefusedObject_HasNoFailures judges an object that the server refuses: an
// expression that fails on it is not worth mentioning.
func TestAdmit_RefusedObject_HasNoFailures(t *testing.T) {
	v, _ := enforcing(t, strings.Replace(boundPolicy, "object.spec.replicas", "object.spec.none", 1))
	found := v.Admit(t.Context(), parsed(t, deployedWeb), nil, true, &verdict.Facts{})
	if len(found) != 1 || found[0].Message != denied+"called web" || !found[0].RefusedByServer || !strings.HasSuffix(found[0].Fix, " in file:0") {
		t.Errorf("%+v", found)
	}
}

// TestAdmit_Secret_IsNotQuoted denies a Secret with messages that quote it.
func TestAdmit_Secret_IsNotQuoted(t *testing.T) {
	policies := strings.NewReplacer("[apps]", `[""]`, "[deployments]", "[secrets]", "object.spec.replicas < 3", "int(string(object.data.a)) > 0", "'called ' + object.metadata.name", "string(object.data.a)").Replace(boundPolicy)
	v, _ := enforcing(t, policies)
	found := messages(v, t, "{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {a: confidential}}", "", &verdict.Facts{})
	for _, message := range found {
		if strings.Contains(message, "confid") || strings.Contains(message, "Y29uZ") {
			t.Errorf("%q quotes the Secret", message)
		}
	}
	want := []string{denied + "an expression failed: usher does not print the error, which may contain a part of the Secret", denied + "failed expression: object.metadata.name != 'web'"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

// TestEnforce_RefusedPolicies_DoNotHideOthers has a policy that does not compile, and
// a binding that the server refuses.
func TestEnforce_RefusedPolicies_DoNotHideOthers(t *testing.T) {
	broken := strings.NewReplacer("name: p}", "name: broken}", "object.spec.replicas < 3", "object.spec.replicas <", "policyName: p,", "policyName: broken,", "name: b}", "name: broken}").Replace(boundPolicy)
	unbound := strings.Replace(strings.Split(boundPolicy, "---")[1], "[Deny]", "[Deny, Warn]", 1)
	v, refused := enforcing(t, broken+"\n---\n"+strings.TrimSpace(unbound)+"\n---\n"+strings.TrimSpace(boundPolicy))
	if len(refused) != 2 || !strings.HasPrefix(refused[0], "spec.validations[0].expression: Invalid value:") || !strings.HasPrefix(refused[2], "spec.validationActions: Invalid value:") {
		t.Errorf("refused: %v", refused)
	}
	if got := messages(v, t, deployedWeb, "", &verdict.Facts{}); len(got) != 2 {
		t.Errorf("decisions: %q", got)
	}
	if v.Enforces("broken") || !v.Enforces("p") {
		t.Error("Enforces reports a policy that is not in force, or not one that is")
	}
}
