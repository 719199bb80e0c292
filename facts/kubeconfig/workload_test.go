package kubeconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/facts/kubeconfig"
)

func TestNextPod(t *testing.T) {
	for name, tt := range map[string]struct{ workload, pod string }{
		"of a CronJob": {`
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: team, uid: u, annotations: {own: kept out}}
spec:
  schedule: "@daily"
  jobTemplate: {spec: {template: {metadata: {annotations: {a: b}, labels: {c: d}}, spec: {restartPolicy: Never, containers: [{name: app, image: app}]}}}}
`, `
apiVersion: v1
kind: Pod
metadata:
  generateName: nightly-
  namespace: team
  annotations: {a: b}
  labels: {c: d}
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: u, controller: true}]
spec: {restartPolicy: Never, containers: [{name: app, image: app}]}
`},
		"of a StatefulSet, with the volumes of its claims": {`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: team, uid: u}
spec:
  volumeClaimTemplates: [{metadata: {name: data}}]
  template: {spec: {containers: [{name: app, image: app}], volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {}}]}}
`, `
apiVersion: v1
kind: Pod
metadata:
  generateName: db-
  namespace: team
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]
spec: {containers: [{name: app, image: app}], volumes: [{name: tmp, emptyDir: {}}, {name: data, persistentVolumeClaim: {claimName: data-db-0}}]}
`},
		"of a pod, less what the API server and usher wrote": {`
apiVersion: v1
kind: Pod
metadata:
  {name: bare, namespace: team, uid: u, resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z", annotations: {a: b,
  usher.dev/injected: '{"side":{"version":"sha256:1","containers":["side"],"initContainers":["init"],"volumes":["shared"]}}'}}
spec: {containers: [{name: app, image: app}, {name: side, image: side}], initContainers: [{name: init, image: init}], volumes: [{name: shared, emptyDir: {}}]}
status: {phase: Running}
`, `
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: team, annotations: {a: b}}
spec: {containers: [{name: app, image: app}], initContainers: [], volumes: []}
`},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubeconfig.Workload{Unstructured: parse(t, tt.workload)}
			before := w.DeepCopy()
			if diff := cmp.Diff(parse(t, tt.pod).Object, w.NextPod(nil).Object); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, w.Object); diff != "" {
				t.Errorf("the workload was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}
