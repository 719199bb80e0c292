package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// resizeOf returns what is known of a change of a pod's resources in place.
func (f *reading) resizeOf(m *plan.Member, p *corev1.Pod) plan.Resizing {
	spec, was := &f.Cluster.Spec, member.ResizeOf(p)
	base, additions := etcd.SplitRevision(etcd.PodRevision(spec))
	revision := p.Annotations[wellknown.AnnotationEtcdPodRevision]
	container := containerOf(p)
	switch {
	case container == nil || was.Revision == "" && revision == base:
		return plan.Resizing{}
	case p.Annotations[wellknown.AnnotationEtcdPodAdditions] != additions ||
		p.Annotations[wellknown.AnnotationEtcdImageDigest] != etcd.ImageDigest(spec, m.Target.String()):
		return plan.Resizing{}
	case was.Revision == base && was.Refused != "":
		return plan.Resizing{Refused: was.Refused}
	case was.Revision == base && equality.Semantic.DeepEqual(container.Resources, etcd.Resources(spec)):
		return plan.Resizing{Asked: true, Since: was.At.Time, Done: resized(p, container), Refused: infeasible(p)}
	}
	return plan.Resizing{Possible: etcd.OnlyResourcesDiffer(spec, container.Resources, revision, was.Revision)}
}

func containerOf(p *corev1.Pod) *corev1.Container {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == member.ContainerName {
			return &p.Spec.Containers[i]
		}
	}
	return nil
}

// resized reports whether the kubelet has given the container its resources.
func resized(p *corev1.Pod, c *corev1.Container) bool {
	for _, condition := range p.Status.Conditions {
		if (condition.Type == corev1.PodResizePending || condition.Type == corev1.PodResizeInProgress) && condition.Status == corev1.ConditionTrue {
			return false
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == c.Name && s.Resources != nil {
			return equality.Semantic.DeepEqual(s.Resources.Requests, c.Resources.Requests) && equality.Semantic.DeepEqual(s.Resources.Limits, c.Resources.Limits)
		}
	}
	return false
}

// infeasible returns the kubelet's reason if the node can never have the
// resources, in a phrase; otherwise "".
func infeasible(p *corev1.Pod) string {
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodResizePending && condition.Status == corev1.ConditionTrue && condition.Reason == corev1.PodReasonInfeasible {
			return "the kubelet says: " + strings.TrimSpace("Infeasible "+condition.Message)
		}
	}
	return ""
}
