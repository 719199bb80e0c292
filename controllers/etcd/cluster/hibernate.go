package cluster

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// Reasons of the conditions of a cluster that hibernates.
const (
	// ReasonHibernated: the spec hibernates the cluster.
	ReasonHibernated = "Hibernated"
	// ReasonWaking: the spec no longer hibernates the cluster, and no majority
	// answers yet.
	ReasonWaking = "Waking"
)

// A sleep is how far a cluster hibernates.
type sleep int

const (
	awake sleep = iota
	fallingAsleep
	asleep
	waking
)

// sleepOf returns how far a cluster hibernates. The condition remembers that it
// slept, until a majority answers.
func sleepOf(cluster *etcdv1beta2.EtcdCluster, s *observe.Observed, p plan.Plan) sleep {
	slept := cluster.Status.Condition(etcdv1beta2.ClusterHibernated)
	switch {
	case plan.Asleep(&cluster.Spec, &s.Observation):
		return asleep
	case cluster.Spec.Hibernated && s.Formed && p.Blocked != plan.RefusedHibernation:
		return fallingAsleep
	case slept != nil && (slept.Status == corev1.ConditionTrue || slept.Reason == ReasonWaking) && s.Formed && !s.Quorum && p.Blocked != plan.QuorumLost:
		return waking
	}
	return awake
}

// judgeSleep sets the condition Hibernated.
func (j *judgement) judgeSleep(is sleep, p plan.Plan) {
	const t = etcdv1beta2.ClusterHibernated
	step := j.cluster.Status.Step
	switch {
	case is == asleep:
		j.set(t, corev1.ConditionTrue, ReasonHibernated, "no pod of the cluster is left; its members keep their claims, and start with them once spec.hibernated is false")
	case is == waking:
		j.explain(t, ReasonWaking, step)
	case p.Blocked == plan.RefusedHibernation:
		j.explain(t, ReasonRefused, p.Message)
	case j.cluster.Spec.Hibernated:
		j.explain(t, ReasonUnderWay, cmp.Or(p.Message, step))
	default:
		j.set(t, corev1.ConditionFalse, ReasonDone, "")
	}
}

// explain sets a condition to false with a reason, also if it never was true.
func (j *judgement) explain(t etcdv1beta2.ClusterConditionType, reason, message string) {
	j.cluster.Status.SetCondition(etcdv1beta2.ClusterCondition{
		Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: j.cluster.Generation,
	}, j.now)
}

// availableAsleep sets Available and the phase of a cluster that does not serve
// because of its hibernation, and reports whether it does not.
func (j *judgement) availableAsleep(is sleep, s *observe.Observed, p plan.Plan) bool {
	st := &j.cluster.Status
	switch {
	case is == asleep:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonHibernated, "spec.hibernated is true")
		st.Phase, st.Reason = etcdv1beta2.ClusterPhaseHibernated, ""
	case is == fallingAsleep && !s.Quorum && p.Blocked == "":
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonHibernated, st.Step)
		st.Phase, st.Reason = s.Before.Phase, ""
	case is == waking && p.Blocked == "" && p.Stalled == nil:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonWaking, st.Step)
		st.Phase, st.Reason = etcdv1beta2.ClusterPhaseHibernated, st.Step
	default:
		return false
	}
	return true
}

// hibernates reports whether a cluster does not serve because the spec hibernates
// it.
func hibernates(c *etcdv1beta2.EtcdCluster) bool {
	available := c.Status.Condition(etcdv1beta2.ClusterAvailable)
	return available != nil && available.Status == corev1.ConditionFalse && available.Reason == ReasonHibernated
}
