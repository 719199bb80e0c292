package transition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/transition"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1.0
        env: [{name: A, value: a}, {name: B, value: b}]
        resources: {requests: {cpu: 1, memory: 1Gi}}
      - {name: proxy, image: registry.example/proxy}
`

// edited returns the Deployment with text replaced, which must exist.
func edited(t *testing.T, replacements ...string) []byte {
	t.Helper()
	manifest := deployment
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(manifest, replacements[i]) {
			t.Fatalf("the manifest has no %q", replacements[i])
		}
		manifest = strings.Replace(manifest, replacements[i], replacements[i+1], 1)
	}
	json, err := yaml.YAMLToJSONStrict([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return json
}

func TestCompare(t *testing.T) {
	tests := map[string]struct {
		edits []string
		want  []string // path, row, outcome
	}{
		"the same object does not change": {},
		"spelling a quantity otherwise is not a change": {
			edits: []string{"{cpu: 1, memory: 1Gi}", `{cpu: 1000m, memory: "1073741824"}`},
		},
		"writing the server's defaults out is not a change": {
			edits: []string{"spec:\n  selector", `spec:
  replicas: 1
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  selector`, "image: registry.example/web:1.0", `image: registry.example/web:1.0
        imagePullPolicy: IfNotPresent
        terminationMessagePath: /dev/termination-log
        ports: []`, "registry.example/proxy}", "registry.example/proxy, imagePullPolicy: Always}",
				"    spec:\n      containers", "    spec:\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      securityContext: {}\n      containers"},
		},
		"null, zero and empty are absent where the type has no pointer": {
			edits: []string{"spec:\n  selector", "spec:\n  paused: false\n  minReadySeconds: 0\n  replicas: null\n  selector"},
		},
		"status and the server's metadata are not compared": {
			edits: []string{"namespace: shop}", "namespace: shop, resourceVersion: '7', generation: 3, managedFields: [{}], uid: u}\nstatus: {replicas: 3}"},
		},
		"a field within an item is named by the item's place": {
			edits: []string{"registry.example/proxy}", "registry.example/proxy:2}"},
			want:  []string{"spec.template.spec.containers[1].image  rollout"},
		},
		"items are matched by their key, and their order is a change of its own": {
			edits: []string{"[{name: A, value: a}, {name: B, value: b}]", "[{name: B, value: b}, {name: A, value: x}]"},
			want:  []string{"spec.template.spec.containers[0].env[1].value  rollout", "spec.template.spec.containers[0].env  rollout"},
		},
		"an item added and one removed are one change each": {
			edits: []string{"{name: B, value: b}", "{name: C, value: b}"},
			want:  []string{"spec.template.spec.containers[0].env[1]  rollout", "spec.template.spec.containers[0].env[1]  rollout"},
		},
		"fields this build does not know are compared as they stand": {
			edits: []string{"spec:\n  selector", "spec:\n  brandNew: {deep: 1}\n  selector"},
			want:  []string{"spec.brandNew  in place"},
		},
		"a value of the wrong type is a change": {
			edits: []string{"  selector: {matchLabels: {app: web}}", "  selector: none"},
			want:  []string{"spec.selector deploy-selector recreate"},
		},
		"labels of the object itself change in place": {
			edits: []string{"namespace: shop}", "namespace: shop, labels: {a: b}}"},
			want:  []string{"metadata.labels[a]  in place"},
		},
		"kubectl's own annotation is not a change": {
			edits: []string{"namespace: shop}", "namespace: shop, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}"},
		},
	}
	table := transition.Kubernetes()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			diff, err := table.Compare(edited(t), edited(t, tc.edits...), transition.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range diff.Changes {
				got = append(got, fmt.Sprintf("%s %s %s", c.Path, c.Row, c.Outcome))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompare_RefusesObjectsThatAreNotAPair(t *testing.T) {
	tests := map[string]struct{ old, new, want string }{
		"broken JSON":      {`{`, `{}`, "decoding the old object"},
		"no object":        {`{}`, `[]`, "decoding the new object"},
		"two kinds":        {`{"apiVersion":"v1","kind":"A"}`, `{"apiVersion":"v1","kind":"B"}`, "pass two objects of one kind"},
		"two names":        {`{"metadata":{"name":"a"}}`, `{"metadata":{"name":"b"}}`, "those are two objects"},
		"two namespaces":   {`{"metadata":{"namespace":"a"}}`, `{"metadata":{"namespace":"b"}}`, "those are two objects"},
		"a kind not known": {`{"apiVersion":"v1","kind":"A"}`, `{"apiVersion":"v1","kind":"A"}`, "usher knows no transitions"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := transition.Kubernetes().Compare([]byte(tc.old), []byte(tc.new), transition.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if name == "a kind not known" && !errors.Is(err, transition.ErrUnknownKind) {
				t.Errorf("%v is not ErrUnknownKind", err)
			}
		})
	}
}

func TestRowsHoldFromTheirVersionOn(t *testing.T) {
	pair := fixtures(t, "job-suspended-resources")[0]
	for version, want := range map[string]string{"": "job-suspended-resources", "1.36": "job-suspended-resources", "v1.34.2": "job-template"} {
		var o transition.Options
		if version != "" {
			var err error
			if o.Server, err = transition.ParseVersion(version); err != nil {
				t.Fatal(err)
			}
		}
		diff, err := transition.Kubernetes().Compare(pair[0], pair[1], o)
		if err != nil {
			t.Fatal(err)
		}
		if got := diff.Changes[0].Row; got != want {
			t.Errorf("version %q: row %s, want %s", version, got, want)
		}
	}
}

func TestAScaleIsJudgedWithItsWorkload(t *testing.T) {
	decode := func(s string) (m map[string]any) {
		if err := yaml.Unmarshal([]byte(s), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	workload := decode(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: u}, spec: {replicas: 3, persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}}}`)
	tests := map[string]string{"{spec: {replicas: 2}}": "sts-pvc-delete", "{spec: {}}": "sts-pvc-delete", "{spec: {replicas: 4}}": ""}
	for scale, want := range tests {
		diff, err := transition.Kubernetes().CompareScale(decode("{spec: {replicas: 3}}"), decode(scale), workload, transition.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(diff.Changes) != 1 || diff.Changes[0].Row != want {
			t.Errorf("%s: %+v, want one change of row %q", scale, diff.Changes, want)
		}
	}
	if got := workload["spec"].(map[string]any)["replicas"]; got != float64(3) {
		t.Errorf("the workload was changed: replicas %v", got)
	}
}

func TestManyChangesAreBoundedAndTheGravestKept(t *testing.T) {
	var labels strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&labels, "a%d: x, ", i)
	}
	diff, err := transition.Kubernetes().Compare(edited(t),
		edited(t, "namespace: shop}", "namespace: shop, labels: {"+labels.String()+"}}", "matchLabels: {app: web}", "matchLabels: {app: api}"),
		transition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(diff.Changes) > 1100 || len(diff.Changes)+diff.Omitted != 5001 {
		t.Errorf("%d changes, %d omitted, want 5001 in all", len(diff.Changes), diff.Omitted)
	}
	if diff.Outcome() != transition.Recreate {
		t.Errorf("outcome %s, want recreate", diff.Outcome())
	}
}
