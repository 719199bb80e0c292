package kubelet

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

func fieldsEverything() fields.Selector { return fields.Everything() }

// probe runs the container's readiness probe.
func (r *pod) probe(ctx context.Context) bool {
	r.mu.Lock()
	running, unready := r.process, r.unready
	r.mu.Unlock()
	p := r.kubelet.spec(r.uid)
	if unready || running == nil || running.ended() || p == nil || p.Spec.Containers[0].ReadinessProbe == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	url := "http://" + net.JoinHostPort(r.ip, "2381") + p.Spec.Containers[0].ReadinessProbe.HTTPGet.Path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	// Reading the body lets the next probe reuse the connection.
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return false
	}
	return res.StatusCode == http.StatusOK
}

// statusOf returns the status of a pod that is not evicted.
func (r *pod) statusOf(p *corev1.Pod, ready bool) corev1.PodStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	ip := cmp.Or(r.front, r.ip)
	s := corev1.PodStatus{Phase: corev1.PodPending, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, InitContainerStatuses: r.prepared}
	container := corev1.ContainerStatus{Name: p.Spec.Containers[0].Name, RestartCount: r.restarts, Ready: ready}
	switch {
	case r.process != nil && !r.process.ended():
		s.Phase = corev1.PodRunning
		container.State.Running = &corev1.ContainerStateRunning{}
		if repository, digest, found := strings.Cut(r.process.image, "@"); found {
			repository, _, _ = strings.Cut(repository, ":v")
			container.ImageID = repository + "@" + digest
		}
		if r.restarts > 0 { // a container that runs again keeps what it said
			container.LastTerminationState.Terminated = r.terminated()
		}
	case r.pull != nil:
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: r.pull.Error()}
	case r.process != nil && p.Spec.RestartPolicy == corev1.RestartPolicyNever:
		s.Phase = corev1.PodSucceeded
		container.State.Terminated = &corev1.ContainerStateTerminated{Message: r.process.lastWords(), ExitCode: int32(r.process.cmd.ProcessState.ExitCode())}
		if container.State.Terminated.ExitCode != 0 {
			s.Phase = corev1.PodFailed
		}
	default:
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		container.LastTerminationState.Terminated = r.terminated()
	}
	s.ContainerStatuses = []corev1.ContainerStatus{container}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(time.Now().Add(-r.behind))}
	for _, was := range r.status.Conditions {
		if was.Type == condition.Type && was.Status == status {
			condition.LastTransitionTime = was.LastTransitionTime
		}
	}
	s.Conditions = []corev1.PodCondition{condition}
	r.resize(p, &s)
	return s
}

// resize gives the container the resources in the spec, or says why not.
func (r *pod) resize(p *corev1.Pod, s *corev1.PodStatus) {
	r.kubelet.mu.Lock()
	answer := r.kubelet.resizes[p.Namespace+"/"+p.Name]
	r.kubelet.mu.Unlock()
	asked := p.Spec.Containers[0].Resources
	switch {
	case r.applied == nil || answer.Type == "":
		r.applied = asked.DeepCopy()
	case !equality.Semantic.DeepEqual(*r.applied, asked):
		answer.Status = corev1.ConditionTrue
		s.Conditions = append(s.Conditions, answer)
	}
	s.ContainerStatuses[0].Resources = r.applied.DeepCopy()
}

// terminated is how the container ended last.
func (r *pod) terminated() *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Reason: "Error", Message: r.said, ExitCode: 1}
}

// write writes the status if it changed.
func (r *pod) write(ctx context.Context, p *corev1.Pod, s corev1.PodStatus) error {
	if equality.Semantic.DeepEqual(r.status, s) {
		return nil
	}
	changed := p.DeepCopy()
	changed.Status = s
	_, err := r.kubelet.clients.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err == nil {
		r.status = s
	}
	return err
}
