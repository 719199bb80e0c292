package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
)

// TestGeneratedPolicies_DecideAsTheServerDoes creates, changes and deletes objects
// that generated ValidatingAdmissionPolicies match, and compares the denials and
// warnings. The server gives the first denial.
func TestGeneratedPolicies_DecideAsTheServerDoes(t *testing.T) {
	clients, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	g := policyGenerator{rand.New(rand.NewPCG(generatedSeed, 3))}
	var cases []*policyCase
	for n := range generatedPolicies {
		cases = append(cases, g.generate(n))
	}
	createNamespaces(t, clients)
	before := createObjects(t, cases)
	enforce(t, clients, cases)
	offline := enforcedOffline(t, cases)

	var same, denied, warned int
	for i, c := range cases {
		for j, object := range c.objects {
			requests := map[string][2]string{"create": {strings.ReplaceAll(object, fmt.Sprintf(`"%s-%d"`, c.name, j), fmt.Sprintf(`"%s-1%d"`, c.name, j))}}
			if live := before[object]; live != "" {
				requests["update"] = [2]string{changedObject(t, live), live}
				requests["delete"] = [2]string{"", live}
			}
			for operation, pair := range requests {
				said := server.admit(t, pair[0], pair[1])
				found := admitOffline(t, offline, pair[0], pair[1])
				if !said.about(found) {
					policy, _ := json.Marshal(c.policy)
					bindings, _ := json.Marshal(c.bindings)
					t.Errorf("case %d, %s of %s:\n  server: %q, warnings %q\n  usher: %q, warnings %q\n  policy: %s\n  bindings: %s", i, operation, object, said.denial, said.warnings, found.denials, found.warnings, policy, bindings)
				}
				same++
				denied += min(1, len(found.denials))
				warned += min(1, len(found.warnings))
			}
		}
	}
	t.Logf("%d decisions, %d denials, %d with warnings; %q", same, denied, warned, offline.Unadmitted().Notes())
	if denied < same/10 || denied > same*9/10 || warned == 0 {
		t.Errorf("of %d decisions %d are denials, and %d have warnings: the generator does not try enough", same, denied, warned)
	}
}

// saidByServer is what the server says about a request.
type saidByServer struct {
	denial   string // the first, "" if it admits the object
	warnings []string
}

// foundOffline is what usher says.
type foundOffline struct{ denials, warnings []string }

// about reports whether the two say the same. The server tries bindings in any order.
func (s saidByServer) about(f foundOffline) bool {
	if s.denial == "" {
		return len(f.denials) == 0 && cmp.Equal(sorted(s.warnings), sorted(f.warnings))
	}
	by, _, _ := strings.Cut(s.denial, " denied request: ")
	first := slices.IndexFunc(f.denials, func(denial string) bool { return strings.HasPrefix(denial, by+" denied request: ") })
	return first >= 0 && f.denials[first] == s.denial && cmp.Equal(sorted(s.warnings), sorted(f.warnings))
}

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

func createNamespaces(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	for name, labels := range caseNamespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if _, err := clients.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// createObjects stores the objects before the policies are in force.
func createObjects(t *testing.T, cases []*policyCase) map[string]string {
	t.Helper()
	stored := map[string]string{}
	for _, c := range cases {
		for _, object := range c.objects {
			status, body, _ := server.do(t, http.MethodPost, objectPath(t, object, false), object)
			if status >= 300 {
				t.Fatalf("creating %s: %s", object, body)
			}
			stored[object] = body
			t.Cleanup(func() { server.do(t, http.MethodDelete, objectPath(t, body, true), "") })
		}
	}
	return stored
}

// enforce creates the policies, and waits until the last of them is in force.
func enforce(t *testing.T, clients kubernetes.Interface, cases []*policyCase) {
	t.Helper()
	ctx := context.Background()
	api := clients.AdmissionregistrationV1()
	last := &policyCase{name: "last", policy: &v1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy-last"}, Spec: v1.ValidatingAdmissionPolicySpec{
		ParamKind:        &v1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
		MatchConstraints: &v1.MatchResources{ResourceRules: []v1.NamedRuleWithOperations{rule([]v1.OperationType{v1.Create}, []string{""}, []string{"v1"}, []string{"configmaps"}, v1.AllScopes)}},
		Validations:      []v1.Validation{{Expression: "params.data.max == 'none'", Message: "in force"}},
	}}}
	last.params = []*corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "params-last", Namespace: "default", Labels: map[string]string{"params": "last"}}, Data: map[string]string{"max": "1"}}}
	last.bindings = []*v1.ValidatingAdmissionPolicyBinding{{ObjectMeta: metav1.ObjectMeta{Name: "binding-last"}, Spec: v1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: "policy-last", ValidationActions: []v1.ValidationAction{v1.Deny},
		ParamRef:       &v1.ParamRef{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"params": "last"}}, Namespace: "default", ParameterNotFoundAction: ptr.To(v1.AllowAction)},
		MatchResources: &v1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{caseLabel: "last"}}},
	}}}
	for _, c := range append(slices.Clone(cases), last) {
		for _, p := range c.params {
			if _, err := clients.CoreV1().ConfigMaps(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = clients.CoreV1().ConfigMaps(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{}) })
		}
		if _, err := api.ValidatingAdmissionPolicies().Create(ctx, c.policy, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		t.Cleanup(func() { _ = api.ValidatingAdmissionPolicies().Delete(ctx, c.policy.Name, metav1.DeleteOptions{}) })
		for _, b := range c.bindings {
			if _, err := api.ValidatingAdmissionPolicyBindings().Create(ctx, b, metav1.CreateOptions{}); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			t.Cleanup(func() { _ = api.ValidatingAdmissionPolicyBindings().Delete(ctx, b.Name, metav1.DeleteOptions{}) })
		}
	}
	probe := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "namespace": "default", "labels": {%q: "last"}}}`, caseLabel)
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return strings.HasSuffix(server.admit(t, probe, "").denial, "in force"), nil
	})
	if err != nil {
		t.Fatalf("the policies are not in force: %v", err)
	}
}

// enforcedOffline is usher with the same policies.
func enforcedOffline(t *testing.T, cases []*policyCase) *apiserver.Validator {
	t.Helper()
	v, err := apiserver.New(apiserver.Options{Server: serverVersion})
	if err != nil {
		t.Fatal(err)
	}
	var all []admission.Manifest
	add := func(object metav1.Object, apiVersion, kind string, stored bool) {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, admission.Manifest{Stored: stored, Object: verdict.Object{APIVersion: apiVersion, Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), JSON: raw}})
	}
	for _, c := range cases {
		add(c.policy, c.policy.APIVersion, c.policy.Kind, false)
		for _, b := range c.bindings {
			add(b, b.APIVersion, b.Kind, true)
		}
		for _, p := range c.params {
			add(p, "v1", "ConfigMap", false)
		}
	}
	for name, labels := range caseNamespaces {
		add(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, "v1", "Namespace", false)
	}
	add(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "default"}}, "v1", "Namespace", false)
	if refused := v.Enforce(all); len(refused) > 0 {
		t.Fatalf("usher refuses policies that the server accepts: %v", refused)
	}
	return v
}

func admitOffline(t *testing.T, v *apiserver.Validator, object, old string) (found foundOffline) {
	t.Helper()
	parse := func(text string) *verdict.Object {
		if text == "" {
			return nil
		}
		o := describe("", []byte(text))
		return &verdict.Object{APIVersion: o.apiVersion, Kind: o.kind, Namespace: o.namespace, Name: nameOf(text), JSON: []byte(text)}
	}
	for _, f := range v.Admit(t.Context(), parse(object), parse(old), false, &verdict.Facts{}) {
		switch f.Rule {
		case ruledocs.PolicyDenial:
			found.denials = append(found.denials, f.Message)
		case ruledocs.PolicyWarning:
			found.warnings = append(found.warnings, f.Message)
		}
	}
	return found
}

// admit sends a request as a dry run: it creates an object, changes the old one, or
// deletes it.
func (s *apiServer) admit(t *testing.T, object, old string) saidByServer {
	t.Helper()
	method, about, body := http.MethodPost, object, object
	switch {
	case object == "":
		method, about = http.MethodDelete, old
	case old != "":
		method = http.MethodPut
	}
	status, answer, warnings := s.do(t, method, objectPath(t, about, method != http.MethodPost)+"?dryRun=All", body)
	said := saidByServer{}
	for _, w := range warnings {
		if strings.HasPrefix(w, "Validation failed for ValidatingAdmissionPolicy") {
			said.warnings = append(said.warnings, w)
		}
	}
	if status < 300 {
		return said
	}
	const by = "ValidatingAdmissionPolicy '"
	ok := strings.Contains(answer, by)
	var failed metav1.Status
	if err := json.Unmarshal([]byte(answer), &failed); err != nil || !ok {
		t.Fatalf("%s %s: %d %s", method, about, status, answer)
	}
	_, denial, _ := strings.Cut(failed.Message, by)
	said.denial = by + denial
	return said
}

func (s *apiServer) do(t *testing.T, method, path, body string) (status int, answer string, warnings []string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, s.host+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range response.Header.Values("Warning") {
		if _, text, ok := strings.Cut(w, `"`); ok {
			warnings = append(warnings, strings.ReplaceAll(strings.TrimSuffix(text, `"`), `\"`, `"`))
		}
	}
	return response.StatusCode, string(read), warnings
}

// objectPath is the path of an object, or of its resource.
func objectPath(t *testing.T, raw string, named bool) string {
	t.Helper()
	o := describe("", []byte(raw))
	m, ok := server.kinds[schema.FromAPIVersionAndKind(o.apiVersion, o.kind)]
	if !ok {
		t.Fatalf("the server does not serve %s %s", o.apiVersion, o.kind)
	}
	path := "/apis/" + o.apiVersion
	if o.apiVersion == "v1" {
		path = "/api/v1"
	}
	if m.namespaced {
		path += "/namespaces/" + o.namespace
	}
	if path += "/" + m.resource; named {
		path += "/" + nameOf(raw)
	}
	return path
}

func nameOf(raw string) string {
	var o metav1.PartialObjectMetadata
	_ = json.Unmarshal([]byte(raw), &o) // the test wrote it
	return o.Name
}

// changedObject changes an annotation, and the number of replicas if it has one.
func changedObject(t *testing.T, live string) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(live), &o); err != nil {
		t.Fatal(err)
	}
	o["metadata"].(map[string]any)["annotations"] = map[string]any{"changed": "yes"}
	if spec, ok := o["spec"].(map[string]any); ok {
		for _, field := range []string{"replicas", "maxReplicas"} {
			if n, ok := spec[field].(float64); ok {
				spec[field] = 5 - n
			}
		}
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
