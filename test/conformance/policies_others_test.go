//go:build soak

package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/cli/manifest"
)

var policyModules = flag.String("policies", "sigs.k8s.io/gateway-api,istio.io/istio@v0.0.0-20260827124520-eed52ebb66ad,github.com/kyverno/kyverno@v1.19.1",
	"Go modules, or folders, whose ValidatingAdmissionPolicies are evaluated, separated by commas")

// TestPoliciesOfOthers_DecideAsTheServerDoes binds the policies that projects
// publish or test with, and creates the objects in the same folder and valid objects
// of many kinds.
func TestPoliciesOfOthers_DecideAsTheServerDoes(t *testing.T) {
	clients, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	createNamespaces(t, clients)
	var cases []*policyCase
	for module := range strings.SplitSeq(*policyModules, ",") {
		folder := module
		if !filepath.IsAbs(module) {
			folder = moduleFolder(t, module)
		}
		before := len(cases)
		documents := folders(t, folder)
		for _, folder := range slices.Sorted(maps.Keys(documents)) {
			cases = append(cases, casesOf(t, documents[folder], len(cases))...)
		}
		t.Logf("%s: %d policies", module, len(cases)-before)
	}
	n := 0
	for _, o := range fixtures(t, "allow") { // each with some of the policies
		for range 5 {
			cases[n%len(cases)].add(t, o)
			n++
		}
	}
	enforce(t, clients, cases)
	offline := enforcedOffline(t, cases)
	var same, denied, left int
	for _, c := range cases {
		for _, object := range c.objects {
			before := offline.Unadmitted()
			found := admitOffline(t, offline, object, "")
			if !maps.Equal(before, offline.Unadmitted()) {
				left++
				continue
			}
			said := server.admit(t, object, "")
			if !said.about(found) {
				policy, _ := json.Marshal(c.policy)
				t.Errorf("%s of %s:\n  server: %q\n  usher: %q\n  policy: %s", c.name, object, said.denial, found.denials, policy)
			}
			same++
			denied += min(1, len(found.denials))
		}
	}
	t.Logf("%d policies, %d decisions, %d denials, %d not evaluated", len(cases), same, denied, left)
	if denied == 0 {
		t.Error("no policy denies an object")
	}
}

// folders are the documents below a folder, by the folder that has them.
func folders(t *testing.T, root string) map[string][]*manifest.Document {
	t.Helper()
	files, errs := manifest.Files([]string{root})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	found := map[string][]*manifest.Document{}
	for _, file := range files {
		docs, _ := manifest.ReadTolerant(file, os.Stdin)
		found[filepath.Dir(file)] = append(found[filepath.Dir(file)], docs...)
	}
	return found
}

// casesOf makes a case of each policy that the server accepts.
func casesOf(t *testing.T, docs []*manifest.Document, n int) (cases []*policyCase) {
	t.Helper()
	var objects []object
	for _, d := range docs {
		if d.IsObject() && d.Name != "" && len(d.Duplicates) == 0 {
			objects = append(objects, describe(d.File, d.JSON))
		}
	}
	for _, d := range docs {
		policy := &v1.ValidatingAdmissionPolicy{}
		if d.Kind != "ValidatingAdmissionPolicy" || d.APIVersion != "admissionregistration.k8s.io/v1" || json.Unmarshal(d.JSON, policy) != nil {
			continue
		}
		if kind := policy.Spec.ParamKind; kind != nil && kind.APIVersion != "v1" {
			continue
		}
		c := &policyCase{name: fmt.Sprintf("other-%d", n+len(cases)), policy: policy}
		policy.ObjectMeta = metav1.ObjectMeta{Name: "policy-" + c.name}
		raw, err := json.Marshal(policy)
		if err != nil {
			t.Fatal(err)
		}
		if status, _, _ := server.do(t, http.MethodPost, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All", string(raw)); status >= 300 {
			continue
		}
		c.bindings = []*v1.ValidatingAdmissionPolicyBinding{{
			TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: "binding-" + c.name},
			Spec: v1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: policy.Name, ValidationActions: []v1.ValidationAction{v1.Deny},
				MatchResources: &v1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{caseLabel: c.name}}},
			},
		}}
		for _, o := range objects {
			c.add(t, o)
		}
		cases = append(cases, c)
	}
	return cases
}

// add adds an object with the label of the case, if the server accepts it.
func (c *policyCase) add(t *testing.T, o object) {
	t.Helper()
	var content map[string]any
	m, served := server.kinds[schema.FromAPIVersionAndKind(o.apiVersion, o.kind)]
	if json.Unmarshal(o.raw, &content) != nil || !served || !m.persisted {
		return
	}
	metadata, ok := content["metadata"].(map[string]any)
	if !ok || metadata["name"] == nil {
		return
	}
	metadata["name"] = fmt.Sprintf("%v-of-%s", metadata["name"], c.name)
	if m.namespaced {
		metadata["namespace"] = "policies-dev"
	}
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
	}
	labels[caseLabel], metadata["labels"] = c.name, labels
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, _ := server.do(t, http.MethodPost, objectPath(t, string(raw), false)+"?dryRun=All", string(raw)); status < 300 && !slices.Contains(c.objects, string(raw)) {
		c.objects = append(c.objects, string(raw))
	}
}
