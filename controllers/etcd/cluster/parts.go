package cluster

import (
	"cmp"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// describe describes a member's pod and claim.
func (s *observed) describe(m *plan.Member) {
	of := s.details[m.Name]
	if claim := s.claims[m.Name]; claim != nil {
		known := s.known(m.Name)
		m.Durable = true
		m.Claim = plan.Claim{Exists: known == nil || known.ClaimUID == "" || known.ClaimUID == string(claim.UID), Ending: claim.DeletionTimestamp != nil}
		if m.Claim.Other = !m.Claim.Exists; m.Claim.Other {
			of.problem = "its claim was replaced by another one of the same name, without its data"
		}
		m.Storage = claim.Spec.Resources.Requests[corev1.ResourceStorage]
		m.StorageRevision = claim.Annotations[wellknown.AnnotationEtcdStorageRevision]
		of.since = claim.CreationTimestamp.Time
	}
	p := s.pods[m.Name]
	if p == nil {
		return
	}
	if of.since.IsZero() || p.CreationTimestamp.Time.Before(of.since) {
		of.since = p.CreationTimestamp.Time
	}
	m.Durable = onClaim(p)
	m.Target = etcd.ReadVersion(p.Annotations[wellknown.AnnotationEtcdVersion])
	m.PodRevision = p.Annotations[wellknown.AnnotationEtcdPodRevision]
	if revision := p.Annotations[wellknown.AnnotationEtcdStorageRevision]; s.claims[m.Name] == nil || revision != m.StorageRevision {
		m.StorageRevision = revision
	}
	m.Pod = plan.Pod{
		ID: string(p.UID), Exists: true, Ready: ready(p), Ending: p.DeletionTimestamp != nil, Ended: finished(p),
		Sealed:  p.Annotations[wellknown.AnnotationEtcdInitialState] == "existing" && !strings.Contains(p.Annotations[wellknown.AnnotationEtcdInitialCluster], ","),
		Exposed: p.Labels[wellknown.LabelEtcdVoter] == "true",
	}
	if !m.Answers {
		m.Pod.Reason, m.Pod.Message = trouble(p)
		m.Pod.Stuck, m.Pod.Shared = stuck(m.Pod.Reason)
		of.problem = cmp.Or(m.Pod.Message, of.problem)
	}
}

// judgeData decides whose data is lost. etcd reports an empty volume by how it
// ends; an unmounted volume looks the same, so this must persist for some time.
func (s *observed) judgeData() {
	for i := range s.Members {
		m := &s.Members[i]
		p := s.pods[m.Name]
		without := !m.Claim.Exists && (p == nil || finished(p))
		empty := p != nil && m.Pod.Sealed && !m.Lives() && m.Unresponsive != nil &&
			s.Now.Sub(m.Unresponsive.Since) >= s.Limits.MemberTimeout && saysEmpty(p)
		m.DataGone = m.Listed && m.Started && (without || empty)
	}
}

// known returns the status of a member; nil if the status does not have it.
func (s *observed) known(name string) *etcdv1beta2.MemberStatus {
	for i := range s.before.MemberStatuses {
		if s.before.MemberStatuses[i].Name == name {
			return &s.before.MemberStatuses[i]
		}
	}
	return nil
}

// onClaim reports whether the pod's data is on a claim.
func onClaim(p *corev1.Pod) bool {
	for _, v := range p.Spec.Volumes {
		if v.Name == member.DataVolume {
			return v.PersistentVolumeClaim != nil
		}
	}
	return false
}

// ready returns the kubelet's readiness.
func ready(p *corev1.Pod) bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// saysEmpty reports whether etcd ended because it has no data: a sealed member
// cannot ask anyone for the other members. What a container that runs again has
// said before it ended is over.
func saysEmpty(p *corev1.Pod) bool {
	for _, container := range p.Status.ContainerStatuses {
		if container.Name != member.ContainerName || container.State.Running != nil {
			continue
		}
		for _, ended := range []*corev1.ContainerStateTerminated{container.State.Terminated, container.LastTerminationState.Terminated} {
			if ended != nil {
				return strings.Contains(ended.Message, "could not retrieve cluster information")
			}
		}
	}
	return false
}

// finished reports whether the pod ended and does not restart, as after an
// eviction: its containers are restarted whatever their exit status.
func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// trouble returns why the pod does not run, in a word and in a sentence, from
// the kubelet or the scheduler.
func trouble(p *corev1.Pod) (reason, message string) {
	if p.DeletionTimestamp != nil {
		return "Terminating", "its pod is being deleted"
	}
	if finished(p) {
		return cmp.Or(p.Status.Reason, string(p.Status.Phase)), "its pod ended: " + cmp.Or(p.Status.Message, p.Status.Reason, string(p.Status.Phase))
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return cmp.Or(condition.Reason, corev1.PodReasonUnschedulable), "its pod is not scheduled: " + condition.Message
		}
	}
	for _, container := range p.Status.ContainerStatuses {
		waiting, ended := container.State.Waiting, container.LastTerminationState.Terminated
		if container.State.Terminated != nil {
			ended = container.State.Terminated
		}
		switch {
		case container.Name != member.ContainerName || container.State.Running != nil:
		case waiting != nil && ended == nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
			return waiting.Reason, "its container waits: " + strings.TrimSpace(waiting.Reason+" "+waiting.Message)
		case ended != nil:
			reason := cmp.Or(ended.Reason, "Error")
			if waiting != nil {
				reason = cmp.Or(waiting.Reason, reason)
			}
			return reason, "its container ended: " + cmp.Or(lastLine(ended.Message), ended.Reason)
		}
	}
	return "", ""
}

// stuck reports whether a pod cannot run as it is, and whether another member's
// pod would have the same problem.
func stuck(reason string) (stuck, shared bool) {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
		"CreateContainerConfigError":
		return true, true
	case "", "Terminating", "ContainerCreating", "PodInitializing":
		return false, false
	}
	return true, false
}

// lastLine returns the last line of etcd's log, without what differs between
// starts, and short enough for a status.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	var said struct{ Msg, Error string }
	if json.Unmarshal([]byte(last), &said) == nil && said.Msg != "" {
		last = strings.TrimSuffix(said.Msg+": "+said.Error, ": ")
	}
	if len(last) > 300 {
		last = last[:300] + "…"
	}
	return last
}
