package observe

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

// observePod observes a member's pod and claim.
func (f *reading) observePod(m *plan.Member) {
	of := f.Details[m.Name]
	if claim := f.Claims[m.Name]; claim != nil {
		known := f.Known(m.Name)
		m.Durable = true
		// Until the cluster is formed, there is no data that the claim could lack.
		its := !f.Formed || known == nil || known.ClaimUID == "" || known.ClaimUID == string(claim.UID)
		m.Claim = plan.Claim{Exists: its, Ending: claim.DeletionTimestamp != nil}
		if m.Claim.Other = !m.Claim.Exists; m.Claim.Other {
			of.Problem = "its claim was replaced by another one of the same name, without its data"
		}
		m.Storage = claim.Spec.Resources.Requests[corev1.ResourceStorage]
		m.Capacity = claim.Status.Capacity[corev1.ResourceStorage]
		m.StorageRevision = claim.Annotations[wellknown.AnnotationEtcdStorageRevision]
		of.Since = claim.CreationTimestamp.Time
	}
	p := f.Pods[m.Name]
	if claim := f.Claims[m.Name]; claim != nil {
		m.Claim.Expansion = f.expansionOf(m, claim, p)
	}
	m.NoVolume = m.Listed && m.Started && !m.Claim.Exists && (p == nil || finished(p))
	if p == nil {
		return
	}
	if of.Since.IsZero() || p.CreationTimestamp.Time.Before(of.Since) {
		of.Since = p.CreationTimestamp.Time
	}
	m.Durable = onClaim(p)
	m.Target = etcd.ReadVersion(p.Annotations[wellknown.AnnotationEtcdVersion])
	m.PodRevision, m.SpaceRevision = member.RevisionOf(p), f.spaceRevision(p)
	m.Certificates = etcdv1beta2.MemberCertificates{}
	if given := member.CertificatesOf(p); given != nil {
		m.Certificates = *given
	}
	if revision := p.Annotations[wellknown.AnnotationEtcdStorageRevision]; f.Claims[m.Name] == nil || revision != m.StorageRevision {
		m.StorageRevision = revision
	}
	m.Pod = plan.Pod{
		ID: string(p.UID), Exists: true, Ready: f.ready(m, p), Ending: p.DeletionTimestamp != nil, Ended: finished(p),
		Sealed:  p.Annotations[wellknown.AnnotationEtcdInitialState] == "existing" && !strings.Contains(p.Annotations[wellknown.AnnotationEtcdInitialCluster], ","),
		Exposed: p.Labels[wellknown.LabelEtcdVoter] == "true",
		Digest:  runningDigest(p), Resize: f.resizeOf(m, p),
	}
	m.SaysEmpty = m.Listed && m.Started && m.Pod.Sealed && saysEmpty(p)
	if !m.Answers {
		m.Pod.Reason, m.Pod.Message = whyNotRunning(p)
		m.Pod.Stuck, m.Pod.Shared = stuck(m.Pod.Reason)
		of.Problem = cmp.Or(m.Pod.Message, of.Problem)
	}
}

// ready reports whether the kubelet calls a member's pod ready, and its node
// reports: otherwise that is what the kubelet said last. It matters only for a
// member that does not answer itself.
func (f *reading) ready(m *plan.Member, p *corev1.Pod) bool {
	reports, asked := f.parts.Nodes[p.Spec.NodeName]
	return ready(p) && (m.Answers || !asked || reports)
}

// runningDigest returns the digest by which the pod was told to run its version,
// once the kubelet says that the container runs it; otherwise "".
func runningDigest(p *corev1.Pod) string {
	digest := p.Annotations[wellknown.AnnotationEtcdImageDigest]
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == member.ContainerName && s.State.Running != nil && digest != "" && strings.HasSuffix(s.ImageID, digest) {
			return digest
		}
	}
	return ""
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

// whyNotRunning returns why the pod does not run, in a word and in a sentence,
// from the kubelet or the scheduler.
func whyNotRunning(p *corev1.Pod) (reason, message string) {
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

// WhyNotRunning returns why the pod of a restored member does not run; "" if it
// has no problem.
func WhyNotRunning(p *corev1.Pod) string {
	for _, s := range p.Status.InitContainerStatuses {
		ended := s.LastTerminationState.Terminated
		if s.State.Terminated != nil {
			ended = s.State.Terminated
		}
		switch {
		case s.State.Waiting != nil && strings.Contains(s.State.Waiting.Reason, "Image"):
			return "its container " + s.Name + " waits: " + s.State.Waiting.Reason + " " + s.State.Waiting.Message
		case !s.Ready && ended != nil && ended.ExitCode != 0:
			return "its container " + s.Name + " ended: " + lastLine(ended.Message)
		}
	}
	_, message := whyNotRunning(p)
	return message
}
