package handlers_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestPlainWorkloadsAreAdmittedWhereRulesAreEnforced creates the workloads of the
// rules' fixtures in a namespace that enforces baseline. What the API server of the
// version writes into an object must not bring a denial that the manifest does not
// deserve.
func TestPlainWorkloadsAreAdmittedWhereRulesAreEnforced(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.Enforced(t, "baseline")
	client, err := dynamic.NewForConfig(c.Plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := c.Plane.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	e, err := rules.New(policies.Options{Level: finding.Baseline})
	if err != nil {
		t.Fatal(err)
	}
	admitted := 0
	for _, o := range workloads(t) {
		raw, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		found := e.Evaluate(e.Decode(o.GetAPIVersion(), o.GetKind(), raw), policies.Input{Server: version})
		resource := schema.GroupVersionResource{Group: o.GroupVersionKind().Group, Version: "v1", Resource: strings.ToLower(o.GetKind()) + "s"}
		_, err = client.Resource(resource).Namespace(ns).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			admitted++
		case !apierrors.IsForbidden(err):
			continue // the API server refuses it
		}
		for _, r := range rules.All() {
			if err != nil && strings.Contains(err.Error(), r.ID+": ") && !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Rule == r.ID }) {
				t.Errorf("Kubernetes %s: %s %s is denied by %s, which finds nothing in its manifest: %v", version, o.GetKind(), o.GetName(), r.ID, err)
			}
		}
	}
	if admitted < 20 {
		t.Errorf("only %d workloads were admitted", admitted)
	}
}

// workloads are those of the fixtures that rules allow.
func workloads(t *testing.T) (found []*unstructured.Unstructured) {
	t.Helper()
	paths, err := filepath.Glob("../../policies/rules/testdata/*/allow/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(part), &o.Object); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}, o.GetKind()) {
				o.SetNamespace("")
				found = append(found, o)
			}
		}
	}
	return found
}
