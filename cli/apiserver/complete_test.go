package apiserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// statuses are what controllers may have written into objects of kinds with
// transitions.
var statuses = []string{
	``,
	`{"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}`,
	`{"phase": "Pending"}`,
	`{"active": 2, "startTime": "2026-01-02T03:04:05Z"}`,
	`{"startTime": "2026-01-02T03:04:05Z", "conditions": [{"type": "Suspended", "status": "True"}]}`,
	`{"replicas": 3, "readyReplicas": 1, "observedGeneration": 7, "conditions": [{"type": "Available", "status": "True"}]}`,
	`{"numberReady": 1, "desiredNumberScheduled": 2}`,
	`{"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}`,
	`{"currentVersion": "3.6.1", "size": 3, "memberStatuses": [{"name": "a", "version": "3.6.1", "claim": {"name": "c"}}]}`,
}

// TestComplete_StatusDecides_OnlyIfItIsDeclared compares the server's decision
// about the pair of every row with other statuses of the old object. If they
// differ, a manifest without a status is not complete.
func TestComplete_StatusDecides_OnlyIfItIsDeclared(t *testing.T) {
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	depends := map[string]bool{}
	for _, kind := range transition.All().Kinds() {
		for _, row := range kind.Rows {
			for _, pair := range transitionPairs(t, row.ID) {
				old, new := pair[0], pair[1]
				delete(old, "status")
				without := decided(t, v, old, new)
				for _, status := range statuses {
					if old["status"] = json.RawMessage(status); status == "" {
						delete(old, "status")
					}
					if decided(t, v, old, new) == without {
						continue
					}
					depends[kind.Kind] = true
					delete(old, "status")
					if raw := marshalled(t, old); v.Complete(verdict.Object{APIVersion: kind.APIVersion, Kind: kind.Kind, JSON: raw}) {
						t.Errorf("%s: the server's decision depends on the status %s, and a manifest without one is complete", row.ID, status)
					}
				}
			}
		}
	}
	for _, kind := range []string{"PersistentVolumeClaim", "Job", "EtcdCluster"} {
		if !depends[kind] {
			t.Errorf("no status decides about an update of a %s", kind)
		}
	}
}

func TestComplete(t *testing.T) {
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		apiVersion, kind, json string
		want                   bool
	}{
		"a claim's manifest":             {"v1", "PersistentVolumeClaim", `{}`, false},
		"a claim whose phase is known":   {"v1", "PersistentVolumeClaim", `{"status":{"phase":"Bound"}}`, false},
		"a claim with its capacity":      {"v1", "PersistentVolumeClaim", `{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`, true},
		"a claim from a cluster":         {"v1", "PersistentVolumeClaim", `{"metadata":{"uid":"a"},"status":{"phase":"Bound"}}`, true},
		"a Job's manifest":               {"batch/v1", "Job", `{"status":{}}`, false},
		"a Job with its status":          {"batch/v1", "Job", `{"status":{"active":1}}`, true},
		"a Service's manifest":           {"v1", "Service", `{"spec":{}}`, false},
		"a Service with its address":     {"v1", "Service", `{"spec":{"clusterIP":"10.0.0.1"}}`, true},
		"a Service without an address":   {"v1", "Service", `{"spec":{"type":"ExternalName"}}`, true},
		"a Deployment's manifest":        {"apps/v1", "Deployment", `{}`, true},
		"a custom resource's manifest":   {"etcd.database.coreos.com/v1beta2", "EtcdCluster", `{}`, false},
		"what does not decode":           {"apps/v1", "Deployment", `[]`, false},
		"a binding, which has no status": {"rbac.authorization.k8s.io/v1", "RoleBinding", `{}`, true},
	} {
		if got := v.Complete(verdict.Object{APIVersion: tc.apiVersion, Kind: tc.kind, JSON: []byte(tc.json)}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// decided reports whether the server refuses a change.
func decided(t *testing.T, v *Validator, old, new map[string]any) bool {
	t.Helper()
	object := func(o map[string]any) verdict.Object {
		return verdict.Object{APIVersion: o["apiVersion"].(string), Kind: o["kind"].(string), Namespace: "default", JSON: marshalled(t, o)}
	}
	was := object(old)
	return refuses(v.Validate(object(new), &was, &verdict.Facts{}))
}

func marshalled(t *testing.T, o map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func transitionPairs(t *testing.T, row string) (pairs [][2]map[string]any) {
	t.Helper()
	var objects [2][]map[string]any
	for i, name := range []string{"old.yaml", "new.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../policies/transition/testdata", row, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range bytes.Split(text, []byte("\n---\n")) {
			var object map[string]any
			if err := yaml.Unmarshal(part, &object); err != nil {
				t.Fatal(err)
			}
			objects[i] = append(objects[i], object)
		}
	}
	for i := range objects[0] {
		pairs = append(pairs, [2]map[string]any{objects[0][i], objects[1][i]})
	}
	return pairs
}
