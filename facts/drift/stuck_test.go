package drift

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func TestObstacleOfPod(t *testing.T) {
	const notReady = "conditions: [{type: PodScheduled, status: 'True'}, {type: Ready, status: 'False', reason: ContainersNotReady}]"
	for name, tt := range map[string]struct {
		status string
		want   obstacle
	}{
		"ready":          {"conditions: [{type: Ready, status: 'True'}]", obstacle{}},
		"unschedulable":  {"conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: '0/3 nodes are available: 3 Insufficient cpu.'}]", obstacle{"Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.", true}},
		"not yet seen":   {"phase: Pending", obstacle{"it is not ready", false}},
		"evicted":        {"{phase: Failed, reason: Evicted, message: 'The node was low on resource: memory.'}", obstacle{"Evicted: The node was low on resource: memory.", true}},
		"image":          {notReady + "\ncontainerStatuses: [{name: app, image: 'shop:2', state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"shop:2\"'}}}]", obstacle{`container app: ImagePullBackOff of the image "shop:2": Back-off pulling image "shop:2"`, true}},
		"crash":          {notReady + "\ncontainerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s}}, lastState: {terminated: {exitCode: 2, reason: Error, message: \"panic:\\n  no port\"}}}]", obstacle{"container app: CrashLoopBackOff; it last exited with code 2: panic: no port", true}},
		"out of memory":  {notReady + "\ncontainerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]", obstacle{"container app: CrashLoopBackOff; it last exited with code 137 (OOMKilled)", true}},
		"configuration":  {notReady + "\ncontainerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: 'secret \"db\" not found'}}}]", obstacle{`container app: CreateContainerConfigError: secret "db" not found`, true}},
		"ended":          {notReady + "\ncontainerStatuses: [{name: app, state: {terminated: {exitCode: 1}}}]", obstacle{"container app exited with code 1", true}},
		"probe":          {notReady + "\ncontainerStatuses: [{name: side, ready: true}, {name: app, state: {running: {}}}]", obstacle{"container app is running, but not ready", false}},
		"creating":       {notReady + "\ncontainerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]", obstacle{"container app: ContainerCreating", false}},
		"init container": {notReady + "\ninitContainerStatuses: [{name: ok, state: {terminated: {exitCode: 0}}}, {name: side, started: true, state: {running: {}}}, {name: setup, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3}}}]\ncontainerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]", obstacle{"init container setup: CrashLoopBackOff; it last exited with code 3", true}},
		"readiness gate": {"conditions: [{type: Ready, status: 'False', reason: ReadinessGatesNotReady, message: 'corresponding condition of pod readiness gate \"lb\" does not exist.'}]\ncontainerStatuses: [{name: app, ready: true}]", obstacle{`ReadinessGatesNotReady: corresponding condition of pod readiness gate "lb" does not exist.`, true}},
		"a long message": {notReady + "\ncontainerStatuses: [{name: app, state: {waiting: {reason: RunContainerError, message: '" + strings.Repeat("ä", 400) + "'}}}]", obstacle{"container app: RunContainerError: " + strings.Repeat("ä", 200) + "…", true}},
	} {
		pod := &corev1.Pod{}
		if err := yaml.UnmarshalStrict([]byte(tt.status), &pod.Status); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, obstacleOfPod(pod), cmp.AllowUnexported(obstacle{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestObstacleOf(t *testing.T) {
	pod := func(name, status string) corev1.Pod {
		p := corev1.Pod{}
		p.Name = name
		if err := yaml.UnmarshalStrict([]byte(status), &p.Status); err != nil {
			t.Fatal(err)
		}
		return p
	}
	creating := "containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]"
	failing := "containerStatuses: [{name: app, state: {terminated: {exitCode: 1}}}]"
	quota := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: `pods "shop-a" is forbidden: exceeded quota: small`,
	}}}}
	for name, tt := range map[string]struct {
		workload client.Object
		failed   *corev1.Event
		pods     []corev1.Pod
		want     obstacle
	}{
		"no pods":                 {&appsv1.Deployment{}, nil, nil, obstacle{}},
		"a quota":                 {quota, nil, []corev1.Pod{pod("b", failing)}, obstacle{`its ReplicaSet cannot create pods: FailedCreate: pods "shop-a" is forbidden: exceeded quota: small`, true}},
		"an event":                {&appsv1.StatefulSet{}, &corev1.Event{Reason: "FailedCreate", Message: "forbidden"}, nil, obstacle{"its pods cannot be created: FailedCreate: forbidden", true}},
		"one that fails":          {&appsv1.DaemonSet{}, nil, []corev1.Pod{pod("a", creating), pod("b", failing)}, obstacle{"pod b: container app exited with code 1", true}},
		"several, in their order": {&appsv1.DaemonSet{}, nil, []corev1.Pod{pod("c", failing), pod("a", creating), pod("b", failing)}, obstacle{"pod b: container app exited with code 1; 1 more pod is not available", true}},
		"none that fails":         {&appsv1.DaemonSet{}, nil, []corev1.Pod{pod("b", creating), pod("c", creating), pod("a", creating)}, obstacle{"pod a: container app: ContainerCreating; 2 more pods are not available", false}},
	} {
		if diff := cmp.Diff(tt.want, obstacleOf(tt.workload, tt.failed, tt.pods), cmp.AllowUnexported(obstacle{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
