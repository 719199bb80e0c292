package etcdcluster

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// describe says what a member's pod and claim are.
func (s *sight) describe(m *member, d *desired, now time.Time) {
	for _, known := range d.cluster.Status.MemberStatuses {
		if known.Name == m.name {
			m.pod.asked = known.TargetVersion
		}
	}
	if claim := s.claims[m.name]; claim != nil {
		m.claim, m.claimEnding = true, claim.DeletionTimestamp != nil
		m.since = claim.CreationTimestamp.Time
		m.outdated = claim.Annotations[AnnotationStorageRevision] != d.storageRevision
	}
	p := s.pods[m.name]
	if p == nil {
		return
	}
	if m.since.IsZero() || p.CreationTimestamp.Time.Before(m.since) {
		m.since = p.CreationTimestamp.Time
	}
	m.pod = pod{
		exists: true, ending: p.DeletionTimestamp != nil, dead: finished(p),
		asked:           p.Annotations[AnnotationVersion],
		voter:           p.Labels[LabelVoter] == "true",
		podRevision:     p.Annotations[AnnotationPodRevision],
		storageRevision: p.Annotations[AnnotationStorageRevision],
	}
	m.outdated = m.outdated || m.pod.podRevision != d.podRevision || m.pod.storageRevision != d.storageRevision
	m.pod.sealed = p.Annotations[AnnotationState] == "existing" && !strings.Contains(p.Annotations[AnnotationCluster], ",")
	since := p.CreationTimestamp.Time
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady {
			m.pod.ready = condition.Status == corev1.ConditionTrue && !m.pod.ending
			since = condition.LastTransitionTime.Time
		}
	}
	if !m.pod.ready {
		m.pod.down = now.Sub(since)
	}
	if said := trouble(p); said != "" && !m.answers {
		m.problem = said
	}
}

// finished says whether the pod ended and is not started again, as after an
// eviction: its containers are restarted whatever they end with.
func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// trouble is why the pod does not run, as the kubelet or the scheduler tell.
func trouble(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "its pod is being deleted"
	}
	if finished(p) {
		return "its pod ended: " + cmp.Or(p.Status.Message, p.Status.Reason, string(p.Status.Phase))
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return "its pod is not scheduled: " + condition.Message
		}
	}
	for _, container := range p.Status.ContainerStatuses {
		waiting, ended := container.State.Waiting, container.LastTerminationState.Terminated
		if container.State.Terminated != nil {
			ended = container.State.Terminated
		}
		switch {
		case container.Name != containerName || container.State.Running != nil:
		case ended != nil:
			return "its container ended: " + cmp.Or(lastLine(ended.Message), ended.Reason)
		case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
			return "its container waits: " + strings.TrimSpace(waiting.Reason+" "+waiting.Message)
		}
	}
	return ""
}

// lastLine is the last line of a log, short enough for a status.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	if len(last) > 300 {
		last = last[:300] + "…"
	}
	return last
}
