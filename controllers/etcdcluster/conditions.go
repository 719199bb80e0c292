package etcdcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
)

// Reasons of conditions, beside the plan's blocks.
const (
	// ReasonAnswers: a majority of the members answers.
	ReasonAnswers = "MajorityAnswers"
	// ReasonSilent: no majority has answered for a while.
	ReasonSilent = "NoMajority"
	// ReasonCreating: the first member has not formed the cluster yet.
	ReasonCreating = "Creating"
	// ReasonMissing: something that the manifest names is not there.
	ReasonMissing = "Missing"
	// ReasonDone: there is nothing to do about it.
	ReasonDone = "Done"
	// ReasonUnderWay: the controller is at it.
	ReasonUnderWay = "UnderWay"
	// ReasonSet: the manifest sets it.
	ReasonSet = "Set"
)

// patience is how long a cluster may be silent, and a member down, before a
// condition says so: an election and a restart are no outage.
const patience = 15 * time.Second

// A judgement sets the conditions of a cluster.
type judgement struct {
	cluster *etcdv1beta2.EtcdCluster
	now     metav1.Time
	// news are the conditions that came to hold.
	news []etcdv1beta2.ClusterCondition
}

// set sets a condition. One that does not hold, and never did, is left out
// unless it is one of those that are always told.
func (j *judgement) set(t etcdv1beta2.ClusterConditionType, status corev1.ConditionStatus, reason, message string) {
	was := j.cluster.Status.Condition(t)
	if was == nil && status == corev1.ConditionFalse && !slices.Contains(always, t) {
		return
	}
	became := status == corev1.ConditionTrue && (was == nil || was.Status != status)
	c := etcdv1beta2.ClusterCondition{Type: t, Status: status, Reason: reason, Message: message, ObservedGeneration: j.cluster.Generation}
	j.cluster.Status.SetCondition(c, j.now)
	if became {
		j.news = append(j.news, c)
	}
}

// always are the conditions that are told whether they hold or not.
var always = []etcdv1beta2.ClusterConditionType{
	etcdv1beta2.ClusterAvailable, etcdv1beta2.ClusterRecovering, etcdv1beta2.ClusterScaling, etcdv1beta2.ClusterUpgrading,
}

// when sets a condition that holds or does not.
func (j *judgement) when(t etcdv1beta2.ClusterConditionType, holds bool, reason, message string) {
	if holds {
		j.set(t, corev1.ConditionTrue, reason, message)
		return
	}
	j.set(t, corev1.ConditionFalse, ReasonDone, "")
}

// judge sets the phase and the conditions.
func (c *Controller) judge(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, d *desired, s *sight, plan etcd.Plan, t step) {
	j := &judgement{cluster: cluster, now: metav1.Now().Rfc3339Copy()}
	c.judgeQuorum(ctx, j, plan)
	j.when(etcdv1beta2.ClusterUnsupportedVersion, plan.Blocked == etcd.UnsupportedVersion, string(plan.Blocked), plan.Message)
	j.when(etcdv1beta2.ClusterRefusedChange, len(plan.Refusals) > 0 || plan.Blocked == etcd.InvalidSize, "Refused", refused(plan))
	j.when(etcdv1beta2.ClusterIgnoredFields, len(cluster.Status.IgnoredFields) > 0, ReasonSet,
		"no effect have "+strings.Join(cluster.Status.IgnoredFields, ", "))
	j.when(etcdv1beta2.ClusterMissingReference, d.unable != "", ReasonMissing, d.unable)
	c.available(j, d, s, plan, t)
	s.activities(j, t)
	for _, news := range j.news {
		if slices.Contains(warnings, news.Type) {
			c.events.Eventf(cluster, nil, corev1.EventTypeWarning, string(news.Type), "Look", "%s", news.Message)
		}
	}
}

// warnings are the conditions that somebody should act on.
var warnings = []etcdv1beta2.ClusterConditionType{
	etcdv1beta2.ClusterQuorumLost, etcdv1beta2.ClusterUnsupportedVersion, etcdv1beta2.ClusterRefusedChange, etcdv1beta2.ClusterMissingReference,
}

// available says whether the cluster takes reads and writes.
func (c *Controller) available(j *judgement, d *desired, s *sight, plan etcd.Plan, t step) {
	st := &j.cluster.Status
	silent := c.silence.of(client.ObjectKeyFromObject(j.cluster), s.formed && !s.quorum)
	st.Phase, st.Reason = etcdv1beta2.ClusterPhaseCreating, ""
	switch {
	case s.quorum && s.formed:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionTrue, ReasonAnswers, "")
		st.Phase = etcdv1beta2.ClusterPhaseRunning
	case d.unable != "" && s.formed:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionUnknown, ReasonMissing, d.unable)
		st.Phase, st.Reason = etcdv1beta2.ClusterPhaseFailed, d.unable
	case !s.formed:
		why := t.why
		if plan.Blocked != "" || d.unable != "" {
			st.Phase = etcdv1beta2.ClusterPhaseFailed
			why = strings.TrimSpace(plan.Message + " " + d.unable)
			st.Reason = why
		}
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonCreating, why)
	case silent < patience && s.before.Phase == etcdv1beta2.ClusterPhaseRunning && plan.Blocked != etcd.QuorumLost:
		st.Phase = s.before.Phase
	default:
		why := plan.Message
		if why == "" {
			why = t.why
		}
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonSilent, why)
		st.Phase, st.Reason = etcdv1beta2.ClusterPhaseFailed, why
	}
	if st.Phase == etcdv1beta2.ClusterPhaseRunning && len(plan.Refusals) > 0 {
		st.Reason = plan.Message
	}
}

// activities says what the controller is at. Each condition holds until what it
// is about is done.
func (s *sight) activities(j *judgement, t step) {
	cluster, st := j.cluster, &j.cluster.Status
	if s.formed && !s.quorum && st.Phase == etcdv1beta2.ClusterPhaseRunning {
		return // nothing is known that was not before
	}
	voters, down, rolling, failed := s.voters(), false, false, false
	for _, m := range s.members {
		if !m.listed {
			continue
		}
		down = down || !m.ready()
		rolling = rolling || m.outdated
		failed = failed || !m.learner && (m.gone() || m.pod.down > patience)
	}
	changing := len(voters) != cluster.Spec.Size || len(voters) != st.Size
	was := st.Condition(etcdv1beta2.ClusterRecovering)
	recovering := s.formed && (failed || !s.quorum || (down || changing) && was != nil && was.Status == corev1.ConditionTrue)
	rolling = rolling && s.formed && !cluster.Spec.Paused
	upgrading := s.formed && st.TargetVersion != ""
	j.when(etcdv1beta2.ClusterRecovering, recovering, ReasonUnderWay, "members that failed are brought back or replaced")
	j.when(etcdv1beta2.ClusterUpgrading, upgrading, ReasonUnderWay, fmt.Sprintf("from %s to %s", st.CurrentVersion, st.TargetVersion))
	j.when(etcdv1beta2.ClusterRolling, rolling, ReasonUnderWay, "members get the pods and the storage that the manifest asks for")
	j.when(etcdv1beta2.ClusterScaling, changing && !recovering && !rolling && !cluster.Spec.Paused && t.do != doNothing, ReasonUnderWay,
		fmt.Sprintf("from %d to %d members", len(voters), cluster.Spec.Size))
}

// refused says all that the manifest does not get.
func refused(plan etcd.Plan) string {
	if plan.Blocked == etcd.InvalidSize {
		return plan.Message
	}
	var all []string
	for _, r := range plan.Refusals {
		all = append(all, r.Field+" "+r.Message)
	}
	return strings.Join(all, "; ")
}
