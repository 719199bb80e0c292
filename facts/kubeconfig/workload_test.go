package kubeconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
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

// TestNextPod_RecordsThatUsherDidNotWrite recreates pods that no controller
// recreates, whose records name what the template does not add.
func TestNextPod_RecordsThatUsherDidNotWrite(t *testing.T) {
	side, err := template.Parse("side", map[string]string{template.ConfigKey: "containers: [{name: side, image: side:1}]"})
	if err != nil {
		t.Fatal(err)
	}
	label, err := template.Parse("label", map[string]string{template.ConfigKey: "appContainers: {env: [{name: TEAM, value: a}]}"})
	if err != nil {
		t.Fatal(err)
	}
	known := injector.NewSet(map[string]injector.Entry{"side": {Template: side}, "label": {Template: label}})
	const pod = "containers: [{name: app, image: app, volumeMounts: [{name: data, mountPath: /data}]}, {name: worker, image: w}, {name: side, image: side:1}], volumes: [{name: data, emptyDir: {}}]"
	current := side.Version
	for name, tt := range map[string]struct {
		record     string
		templates  *injector.Set
		containers []string
		keeps      bool
	}{
		"the current version":                        {`{"side":{"version":"` + current + `","containers":["side"]}}`, known, []string{"app", "worker"}, false},
		"the current version, and the app":           {`{"side":{"version":"` + current + `","containers":["side","app"]}}`, known, []string{"app", "worker"}, false},
		"the current version, and only the app":      {`{"side":{"version":"` + current + `","containers":["app"]}}`, known, []string{"app", "worker", "side"}, true},
		"an older version with other containers":     {`{"side":{"version":"sha256:0","containers":["side"],"initContainers":["worker"]}}`, known, []string{"app"}, false},
		"an unknown version, and only the app":       {`{"side":{"version":"sha256:0","containers":["app"]}}`, known, []string{"app", "worker", "side"}, true},
		"a version that names nothing":               {`{"side":{"version":"sha256:0"}}`, known, []string{"app", "worker", "side"}, true},
		"nothing, of templates that may not be read": {`{"side":{"version":"sha256:0"}}`, nil, []string{"app", "worker", "side"}, true},
		"a template without containers":              {`{"label":{"version":"sha256:0","appContainers":{"app":{"env":["TEAM"]}}}}`, known, []string{"app", "worker", "side"}, false},
		"a volume that the app mounts":               {`{"side":{"version":"` + current + `","containers":["side"],"volumes":["data"]}}`, known, []string{"app", "worker"}, false},
		"a template that was deleted":                {`{"gone":{"version":"sha256:0","containers":["side"]}}`, known, []string{"app", "worker"}, false},
		"every container, of a template not known":   {`{"gone":{"version":"sha256:0","containers":["app","worker","side"]}}`, known, []string{"app", "worker", "side"}, true},
		"templates that may not be read":             {`{"side":{"version":"sha256:0","containers":["side"]}}`, nil, []string{"app", "worker"}, false},
		"one that is true, and one that is not": {
			`{"side":{"version":"` + current + `","containers":["side"]},"gone":{"version":"sha256:0","containers":["app","worker","side"]}}`, known, []string{"app", "worker"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubeconfig.Workload{Unstructured: parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: team, annotations: {usher.dev/injected: '"+tt.record+"'}}, spec: {"+pod+"}}")}
			next := w.NextPod(tt.templates)
			var names []string
			containers, _, _ := unstructured.NestedSlice(next.Object, "spec", "containers")
			for _, c := range containers {
				names = append(names, c.(map[string]any)["name"].(string))
			}
			if diff := cmp.Diff(tt.containers, names); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if _, keeps := next.GetAnnotations()[wellknown.AnnotationInjected]; keeps != tt.keeps {
				t.Errorf("the record is %v", next.GetAnnotations())
			}
			if volumes, _, _ := unstructured.NestedSlice(next.Object, "spec", "volumes"); len(volumes) != 1 {
				t.Errorf("the volumes are %v", volumes)
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
