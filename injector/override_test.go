package injector

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding/reason"
)

func TestOverrides(t *testing.T) {
	const config = `containers: [{name: side, image: "side:1", env: [{name: A, value: a}], resources: {requests: {cpu: 10m}, limits: {cpu: 100m}}}, {name: other, image: o}]`
	all := "overrides: [image, cpu, memory, env]"
	tests := map[string]struct {
		overrides string
		options   string
		change    func(*corev1.Container)
		message   string // of the denial
	}{
		"image": {
			overrides: `"inject.usher.dev/side.image": "side:2"`, options: all,
			change: func(c *corev1.Container) { c.Image = "side:2" },
		},
		"request and limit": {
			overrides: `"inject.usher.dev/side.cpu": "200m", "inject.usher.dev/side.cpu-limit": "1", "inject.usher.dev/side.memory-limit": 1Gi`, options: all,
			change: func(c *corev1.Container) {
				c.Resources = resources(`{"requests":{"cpu":"200m"},"limits":{"cpu":"1","memory":"1Gi"}}`)
			},
		},
		"an environment variable": {
			overrides: `"inject.usher.dev/side.env.A": "x"`, options: all,
			change: func(c *corev1.Container) {
				c.Env = []corev1.EnvVar{{Name: "A", Value: "x"}}
			},
		},
		"a variable that no container declares": {
			overrides: `"inject.usher.dev/side.env.B_2": "y"`, options: all,
			message: `names the variable B_2, which no container of the template "side" declares; declare it under env`,
		},
		"none is allowed by default": {
			overrides: `"inject.usher.dev/side.image": "side:2"`, message: `is not allowed by the template "side"; its options.overrides must list image`,
		},
		"one is allowed and another not": {
			overrides: `"inject.usher.dev/side.cpu": "1"`, options: "overrides: [image]", message: "its options.overrides must list cpu",
		},
		"an unknown one": {
			overrides: `"inject.usher.dev/side.imge": "x"`, options: all, message: "is not an override; write one of image, cpu, cpu-limit",
		},
		"a quantity that is none": {
			overrides: `"inject.usher.dev/side.memory": "lots"`, options: all, message: `is "lots"; write a quantity such as "64Mi"`,
		},
		"a negative quantity": {
			overrides: `"inject.usher.dev/side.cpu": "-1"`, options: all, message: `is "-1"; write a quantity such as "100m"`,
		},
		"a request over its limit": {
			overrides: `"inject.usher.dev/side.cpu": "200m"`, options: all,
			message: "makes the request 200m larger than the limit 100m; raise the limit with inject.usher.dev/side.cpu-limit",
		},
		"an image with a space": {
			overrides: `"inject.usher.dev/side.image": "a b"`, options: all, message: "write the name of an image",
		},
		"by the Initializer's prefix": {
			overrides: `"initializer.kubernetes.io/side.image": "x"`, options: all, message: "for an override write inject.usher.dev/side.image",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tpl := mustParse(t, "side", config, tc.options)
			r := Request{Object: fromYAML(t, asking(asks+", "+tc.overrides, "")), Templates: set(tpl)}
			d := Decide(r)
			if tc.message != "" {
				if d.Reason != reason.BadValue || !d.Denied || !strings.Contains(d.Message(), tc.message) {
					t.Fatalf("got %s %q, want bad-value %q", d.Reason, d.Message(), tc.message)
				}
				return
			}
			if d.Denied {
				t.Fatal(d.Message())
			}
			out := apply(t, r, d)
			var got corev1.Pod
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			want := tpl.Containers[0].Typed.DeepCopy()
			tc.change(want)
			if diff := cmp.Diff(canonical(*want), canonical(got.Spec.Containers[1])); diff != "" {
				t.Errorf("container (-want +got):\n%s", diff)
			}
			r.Object = out
			if again := Decide(r); again.Reason != reason.AlreadyInjected {
				t.Errorf("the second pass says %s (%s)", again.Reason, again.Message())
			}
		})
	}
}

func resources(text string) corev1.ResourceRequirements {
	var r corev1.ResourceRequirements
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		panic(err)
	}
	return r
}

func TestOverrideOfAnUnrequestedTemplateChangesNothing(t *testing.T) {
	d := Decide(Request{Object: fromYAML(t, asking(`"inject.usher.dev/side.image": "x"`, "")), Templates: set(mustParse(t, "side", small, ""))})
	if d.Reason != reason.NotAsked || d.Denied {
		t.Errorf("got %s, want not-asked", d.Reason)
	}
}

// An override of a variable reaches every container that declares it.
func TestOverrideOfAVariableReachesEachContainer(t *testing.T) {
	const config = `{initContainers: [{name: init, image: i, env: [{name: PORTS}]}], containers: [{name: side, image: i, env: [{name: OTHER, value: o}]}, {name: agent, image: i, env: [{name: PORTS, value: "1"}]}]}`
	r := Request{Object: fromYAML(t, asking(asks+`, inject.usher.dev/side.env.PORTS: "8080"`, "")), Templates: set(mustParse(t, "side", config, "overrides: [env]"))}
	d := Decide(r)
	if d.Denied {
		t.Fatal(d.Message())
	}
	var pod corev1.Pod
	if err := json.Unmarshal(apply(t, r, d), &pod); err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{{Name: "PORTS", Value: "8080"}}
	for name, c := range map[string]corev1.Container{"init": pod.Spec.InitContainers[0], "agent": pod.Spec.Containers[2]} {
		if diff := cmp.Diff(want, c.Env); c.Name != name || diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]corev1.EnvVar{{Name: "OTHER", Value: "o"}}, pod.Spec.Containers[1].Env); diff != "" {
		t.Errorf("side (-want +got):\n%s", diff)
	}
}
