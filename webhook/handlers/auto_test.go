package handlers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

// The API server writes defaults into what the pod leaves to the template.
func TestAContainerThatThePodCustomizes(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", `
containers:
- {name: side, image: 'side:1.2', args: [serve], env: [{name: LEVEL, value: info}], readinessProbe: {httpGet: {path: /ready, port: 9000}}, terminationMessagePolicy: FallbackToLogsOnError}
dnsConfig: {searches: [mesh.local]}
securityContext: {fsGroup: 2000}
shareProcessNamespace: true
terminationGracePeriodSeconds: 60
`, "native: preferred")
	pods := c.CoreV1().Pods(c.NewNamespace(t, nil))
	const own = "{name: side, image: auto, resources: {requests: {cpu: 10m}}, env: [{name: LEVEL, value: debug}]}"
	tests := map[string]struct{ spec, containers string }{
		"moved":        {"containers: [" + own + ", {name: app, image: app}]", "app|side"},
		"in place":     {"initContainers: [" + own + "], containers: [{name: app, image: app}]", "app|side"},
		"the only one": {"containers: [" + own + "]", "side|"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sent := webhooktest.Pod(t, `"inject.usher.dev/side": "true"`, tc.spec)
			pod, err := pods.Create(t.Context(), sent, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := names(pod.Spec.Containers) + "|" + names(pod.Spec.InitContainers); got != tc.containers {
				t.Errorf("containers %s, want %s", got, tc.containers)
			}
			side := of(pod, "side")
			if side.Image != "side:1.2" || side.ImagePullPolicy != corev1.PullIfNotPresent || side.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError ||
				side.ReadinessProbe == nil || side.Resources.Requests.Cpu().String() != "10m" || !cmp.Equal([]string{"serve"}, side.Args) || !cmp.Equal([]corev1.EnvVar{{Name: "LEVEL", Value: "debug"}}, side.Env) {
				t.Errorf("the container is %+v", side)
			}
			if s := pod.Spec; *s.TerminationGracePeriodSeconds != 60 || !*s.ShareProcessNamespace || *s.SecurityContext.FSGroup != 2000 || !cmp.Equal([]string{"mesh.local"}, s.DNSConfig.Searches) {
				t.Errorf("the pod is %+v", s)
			}
			restored, err := pods.Create(t.Context(), backup(pod), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				t.Fatal(err)
			}
			if !equality.Semantic.DeepEqual(pod.Spec, restored.Spec) || !cmp.Equal(pod.Annotations, restored.Annotations) {
				t.Errorf("the restored pod differs: %s", cmp.Diff(pod.Spec, restored.Spec))
			}
		})
	}
}

func names(containers []corev1.Container) string {
	text := ""
	for i := range containers {
		if i > 0 {
			text += " "
		}
		text += containers[i].Name
	}
	return text
}
