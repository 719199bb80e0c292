package drift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/finding"
)

// An obstacle is why a rollout does not go on.
type obstacle struct {
	// text is a statement such as `pod shop-a: ImagePullBackOff of the image "shop:2"`.
	text string
	// stays is true if a person should act, and false for what every new pod goes
	// through.
	stays bool
}

// obstacleOf returns what keeps a workload from having its new pods available: what
// its controller says, or the first of its new pods that cannot run.
func obstacleOf(workload client.Object, failed *corev1.Event, pods []corev1.Pod) obstacle {
	if text := notCreated(workload, failed); text != "" {
		return obstacle{text, true}
	}
	var first obstacle
	more := 0
	for _, pod := range slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }) {
		switch o := obstacleOfPod(&pod); {
		case o.text == "":
		case first.text == "", o.stays && !first.stays:
			first = obstacle{"pod " + pod.Name + ": " + o.text, o.stays}
			more = 0
		case o.stays == first.stays:
			more++
		}
	}
	switch {
	case more == 1:
		first.text += "; 1 more pod is not available"
	case more > 1:
		first.text += fmt.Sprintf("; %d more pods are not available", more)
	}
	return first
}

// notCreated says why the controller of a workload cannot create its pods, such as a
// quota or a webhook.
func notCreated(workload client.Object, failed *corev1.Event) string {
	if d, ok := workload.(*appsv1.Deployment); ok {
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				return "its ReplicaSet cannot create pods: " + said(c.Reason, c.Message)
			}
		}
	}
	if failed != nil {
		return "its pods cannot be created: " + said(failed.Reason, failed.Message)
	}
	return ""
}

// overdue reports whether a Deployment has given up waiting for its pods.
func overdue(workload client.Object) bool {
	d, ok := workload.(*appsv1.Deployment)
	return ok && d.Status.ObservedGeneration >= d.Generation && slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded"
	})
}

func obstacleOfPod(pod *corev1.Pod) obstacle {
	ready := condition(pod, corev1.PodReady)
	switch scheduled := condition(pod, corev1.PodScheduled); {
	case pod.DeletionTimestamp != nil, ready != nil && ready.Status == corev1.ConditionTrue:
		return obstacle{}
	case pod.Status.Phase == corev1.PodFailed:
		return obstacle{said(cmp.Or(pod.Status.Reason, "Failed"), pod.Status.Message), true}
	case scheduled != nil && scheduled.Status == corev1.ConditionFalse:
		return obstacle{said(scheduled.Reason, scheduled.Message), true}
	}
	for _, s := range pod.Status.InitContainerStatuses {
		native := s.State.Running != nil && s.Started != nil && *s.Started
		if s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 || native {
			continue
		}
		if o := obstacleOfContainer("init container "+s.Name, &s); o.text != "" {
			return o
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.Ready {
			continue
		}
		if o := obstacleOfContainer("container "+s.Name, &s); o.text != "" {
			return o
		}
	}
	if ready != nil && ready.Reason != "ContainersNotReady" {
		return obstacle{said(cmp.Or(ready.Reason, "it is not ready"), ready.Message), ready.Reason == "ReadinessGatesNotReady"}
	}
	return obstacle{"it is not ready", false}
}

func obstacleOfContainer(name string, s *corev1.ContainerStatus) obstacle {
	if ended := s.State.Terminated; ended != nil {
		return obstacle{name + " " + exited(ended), true}
	}
	waits := s.State.Waiting
	if waits == nil {
		return obstacle{name + " is running, but not ready", false}
	}
	switch waits.Reason {
	case "", "PodInitializing":
		return obstacle{}
	case "ContainerCreating":
		return obstacle{name + ": ContainerCreating", false}
	case "CrashLoopBackOff":
		text := name + ": CrashLoopBackOff"
		if last := s.LastTerminationState.Terminated; last != nil {
			text += "; it last " + exited(last)
		}
		return obstacle{text, true}
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return obstacle{fmt.Sprintf("%s: %s", name, said(fmt.Sprintf("%s of the image %s", waits.Reason, finding.Quote(s.Image)), waits.Message)), true}
	}
	return obstacle{name + ": " + said(waits.Reason, waits.Message), true}
}

// exited says how a container ended.
func exited(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exited with code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		text += " (" + t.Reason + ")"
	}
	return said(text, t.Message)
}

// maxSaid is how much of another component's message is shown, in bytes.
const maxSaid = 400

// said is a reason and, on one line, the message of the component that gave it.
func said(reason, message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxSaid {
		message = strings.ToValidUTF8(message[:maxSaid], "") + "…"
	}
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}
