package injector

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding/reason"
)

// TestAddedContainersHaveTheTokenThatThePodsOwnHave compares an added container
// with the result of the API server's plugin ServiceAccount.
func TestAddedContainersHaveTheTokenThatThePodsOwnHave(t *testing.T) {
	const (
		volumes = "volumes: [{name: data, emptyDir: {}}, {name: kube-api-access-x1, projected: {sources: []}}], "
		mounts  = "volumeMounts: [{name: kube-api-access-x1, readOnly: true, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]"
		app     = "containers: [{name: app, image: app, " + mounts + "}]"
		mounted = "kube-api-access-x1 /var/run/secrets/kubernetes.io/serviceaccount true"
	)
	for name, tc := range map[string]struct {
		spec, config, options string
		notes                 string // further annotations
		want                  []string
	}{
		"every container of the pod has it": {spec: volumes + app, want: []string{mounted}},
		"init containers have it, too":      {spec: volumes + app + ", initContainers: [{name: setup, image: i, " + mounts + "}]", want: []string{mounted}},
		"after the template's own mounts": {
			spec:   volumes + app,
			config: "{containers: [{name: side, image: side:1, volumeMounts: [{name: v, mountPath: /v}], stdin: true}], volumes: [{name: v, emptyDir: {}}]}", want: []string{"v /v false", mounted},
		},
		"in an init container": {spec: volumes + app, config: "initContainers: [{name: side, image: side:1}]", want: []string{mounted}},
		"in a native sidecar":  {spec: volumes + app + ", restartPolicy: Never", want: []string{mounted}},
		"next to an override": {
			spec: volumes + app, options: "overrides: [image]", notes: `, "inject.usher.dev/side.image": "side:2"`, want: []string{mounted},
		},
		"not where the pod has no token":      {spec: "containers: [{name: app, image: app}]"},
		"not where it is not to be mounted":   {spec: "automountServiceAccountToken: false, " + volumes + app},
		"not where a container does without":  {spec: volumes + app + ", initContainers: [{name: setup, image: i}]"},
		"not where nothing mounts the volume": {spec: volumes + "containers: [{name: app, image: app}]"},
		"not where all have another volume in its place": {
			spec: volumes + "containers: [{name: app, image: app, volumeMounts: [{name: data, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]",
		},
		"not where the template has something in its place": {
			spec:   volumes + app,
			config: "{containers: [{name: side, image: side:1, volumeMounts: [{name: v, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}], volumes: [{name: v, emptyDir: {}}]}",
			want:   []string{"v /var/run/secrets/kubernetes.io/serviceaccount false"},
		},
		"in an empty list": {spec: volumes + app, config: "containers: [{name: side, image: side:1, volumeMounts: []}]", want: []string{mounted}},
		"in place of null": {spec: volumes + app, config: "containers: [{name: side, image: side:1, volumeMounts: null}]", want: []string{mounted}},
		"in each of two native sidecars, before the pod's own": {
			spec:   volumes + app + ", restartPolicy: Never, initContainers: [{name: setup, image: i, " + mounts + "}]",
			config: "containers: [{name: first, image: f}, {name: side, image: side:1}]", want: []string{mounted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := tc.config
			if config == "" {
				config = small
			}
			r := Request{Object: fromYAML(t, asking(asks+tc.notes, tc.spec)), Templates: set(mustParse(t, "side", config, tc.options)), NativeSidecars: true}
			d := Decide(r)
			if d.Reason != reason.Injected {
				t.Fatalf("%s: %s", d.Reason, d.Message())
			}
			var pod corev1.Pod
			if err := json.Unmarshal(apply(t, r, d), &pod); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				if c.Name == "side" {
					for _, m := range c.VolumeMounts {
						got = append(got, m.Name+" "+m.MountPath+" "+map[bool]string{true: "true", false: "false"}[m.ReadOnly])
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			r.Object = apply(t, r, d)
			if again := Decide(r); again.Reason != reason.AlreadyInjected || len(again.Patch) > 0 {
				t.Errorf("a second pass: %s %s", again.Reason, again.Patch.JSON())
			}
		})
	}
}
