package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// Reasons of conditions, in addition to the plan's blocks.
const (
	// ReasonAnswers: a majority of the members answers.
	ReasonAnswers = "MajorityAnswers"
	// ReasonReady: no majority answers usher's client, and the kubelet of a voter
	// says that it is ready.
	ReasonReady = "MemberReady"
	// ReasonRefused: members refuse usher's client.
	ReasonRefused = "Refused"
	// ReasonSilent: no majority has answered for a while.
	ReasonSilent = "NoMajority"
	// ReasonCreating: the first member has not formed the cluster yet.
	ReasonCreating = "Creating"
	// ReasonMissing: something that the manifest names does not exist.
	ReasonMissing = "Missing"
	// ReasonDone: nothing is left to do.
	ReasonDone = "Done"
	// ReasonUnderWay: the controller is working on it.
	ReasonUnderWay = "UnderWay"
	// ReasonSet: the manifest sets it.
	ReasonSet = "Set"
	// ReasonRetained: claims of a previous cluster of the name exist.
	ReasonRetained = "FormerCluster"
	// ReasonAlarm: etcd has raised an alarm.
	ReasonAlarm = "AlarmRaised"
	// ReasonSetAside: claims are kept until they are deleted.
	ReasonSetAside = "KeptForAWhile"
)

// unavailableAfter is how long a cluster or a member may be unavailable before a
// condition reports it: an election or a restart is not an outage.
const unavailableAfter = 15 * time.Second

// A judgement sets the conditions of a cluster.
type judgement struct {
	cluster *etcdv1beta2.EtcdCluster
	now     metav1.Time
	// news are the conditions that became true.
	news []etcdv1beta2.ClusterCondition
}

// set sets a condition. It omits one that is false and never was true, unless
// it is in always.
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

// always are the conditions that are set whether they are true or false.
var always = []etcdv1beta2.ClusterConditionType{
	etcdv1beta2.ClusterAvailable, etcdv1beta2.ClusterRecovering, etcdv1beta2.ClusterScaling, etcdv1beta2.ClusterUpgrading,
}

// when sets a condition to true or false.
func (j *judgement) when(t etcdv1beta2.ClusterConditionType, holds bool, reason, message string) {
	if holds {
		j.set(t, corev1.ConditionTrue, reason, message)
		return
	}
	j.set(t, corev1.ConditionFalse, ReasonDone, "")
}

// judge sets the phase and the conditions.
func (c *Controller) judge(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, d *member.Desired, s *observe.Observed, p plan.Plan) {
	j := &judgement{cluster: cluster, now: metav1.Now().Rfc3339Copy()}
	c.judgeQuorum(ctx, j, s, p)
	is := sleepOf(cluster, s, p)
	j.judgeSleep(is, p)
	j.when(etcdv1beta2.ClusterUnsupportedVersion, p.Blocked == plan.UnsupportedVersion, string(p.Blocked), p.Message)
	j.when(etcdv1beta2.ClusterRefusedChange, len(p.Refusals) > 0 || p.Blocked == plan.InvalidSize || p.Blocked == plan.RefusedHibernation, "Refused", refused(p))
	j.when(etcdv1beta2.ClusterIgnoredFields, len(cluster.Status.IgnoredFields) > 0, ReasonSet,
		"ignored fields: "+strings.Join(cluster.Status.IgnoredFields, ", "))
	j.when(etcdv1beta2.ClusterMissingReference, d.Missing != "", ReasonMissing, d.Missing)
	judgeAuth(j, d, s)
	j.when(etcdv1beta2.ClusterRetainedClaims, len(s.Retained) > 0 || p.Blocked == plan.RetainedClaims, ReasonRetained, retained(s, p))
	j.when(etcdv1beta2.ClusterClaimsSetAside, len(cluster.Status.SetAside) > 0, ReasonSetAside, setAsideClaims(cluster.Status.SetAside))
	stall := p.Stalled
	if failed := c.options.stall(c.failures.of(client.ObjectKeyFromObject(cluster)), time.Now()); failed != nil {
		stall = failed
	}
	if stall != nil {
		j.set(etcdv1beta2.ClusterStalled, corev1.ConditionTrue, reasonOf(stall.Reason), stall.Message)
	} else {
		j.set(etcdv1beta2.ClusterStalled, corev1.ConditionFalse, ReasonDone, "")
	}
	judgeAlarms(j, s)
	c.judgeCertificates(j, d, s)
	judgeSpace(j, s, p)
	c.available(j, d, s, p, is)
	activities(j, s, p, is)
	c.tell(j)
}

// tell writes Events about the conditions that became true and need attention.
func (c *Controller) tell(j *judgement) {
	for _, news := range j.news {
		if slices.Contains(warnings, news.Type) {
			c.events.Eventf(j.cluster, nil, corev1.EventTypeWarning, string(news.Type), "Look", "%s", news.Message)
		}
	}
}

// reasonOf returns a pod's reason in a form that is valid for a condition.
func reasonOf(reason string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, reason)
	if kept == "" {
		return plan.StallUnresponsive
	}
	return kept
}

// retained reports what happened to the claims of a former cluster.
func retained(s *observe.Observed, p plan.Plan) string {
	switch {
	case p.Blocked == plan.RetainedClaims:
		return p.Message
	case !s.Formed && s.Adopt == plan.AdoptClaims:
		return "the cluster adopts claims of a former cluster of this name: " + strings.Join(s.Retained, ", ")
	}
	text := "claims of a former cluster of this name exist, and are not used: " + strings.Join(s.Retained, ", ")
	if s.Formed && s.Adopt == plan.AdoptClaims {
		text += "; the cluster already exists, and only a new cluster can adopt them"
	}
	return text
}

// setAsideClaims lists the claims with their expiry.
func setAsideClaims(all []etcdv1beta2.SetAsideClaim) string {
	var texts []string
	for _, a := range all {
		text := a.Claim
		if a.Until != nil {
			text += " until " + a.Until.UTC().Format("2006-01-02 15:04:05")
		}
		texts = append(texts, text)
	}
	return "claims of removed members will be deleted: " + strings.Join(texts, ", ")
}

// warnings are the conditions that need attention.
var warnings = []etcdv1beta2.ClusterConditionType{
	etcdv1beta2.ClusterQuorumLost, etcdv1beta2.ClusterUnsupportedVersion, etcdv1beta2.ClusterRefusedChange, etcdv1beta2.ClusterMissingReference,
	etcdv1beta2.ClusterMissingCredentials, etcdv1beta2.ClusterStalled, etcdv1beta2.ClusterRetainedClaims,
	etcdv1beta2.ClusterNoSpace, etcdv1beta2.ClusterCorrupt, etcdv1beta2.ClusterInvalidCertificates, etcdv1beta2.ClusterSpaceStalled,
}

// available reports whether the cluster accepts reads and writes.
func (c *Controller) available(j *judgement, d *member.Desired, s *observe.Observed, p plan.Plan, is sleep) {
	st := &j.cluster.Status
	proof := s.Serving()
	unavailable := c.unavailability.of(client.ObjectKeyFromObject(j.cluster), s.Formed && proof == "" && is == awake)
	if j.availableAsleep(is, s, p) {
		return
	}
	st.Phase, st.Reason = etcdv1beta2.ClusterPhaseCreating, ""
	alarm := alarmed(st)
	switch {
	case alarm != nil && s.Formed:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonAlarm, alarm.Message)
		st.Phase, st.Reason = etcdv1beta2.ClusterPhaseFailed, alarm.Message
	case s.Quorum && s.Formed:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionTrue, ReasonAnswers, "")
		st.Phase = etcdv1beta2.ClusterPhaseRunning
	case proof != "" && s.Formed:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionTrue, ReasonReady, proof+" says that it is ready; no majority answers usher's client")
		st.Phase = etcdv1beta2.ClusterPhaseRunning
	case d.Missing != "" && s.Formed:
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionUnknown, ReasonMissing, d.Missing)
		st.Phase, st.Reason = etcdv1beta2.ClusterPhaseFailed, d.Missing
	case !s.Formed:
		why := st.Step
		if p.Blocked != "" || d.Missing != "" {
			st.Phase = etcdv1beta2.ClusterPhaseFailed
			why = cmp.Or(d.Missing, p.Message)
			st.Reason = why
		}
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonCreating, why)
	case unavailable < unavailableAfter && s.Before.Phase == etcdv1beta2.ClusterPhaseRunning && p.Blocked != plan.QuorumLost:
		st.Phase = s.Before.Phase
	default:
		why := cmp.Or(p.Message, st.Step)
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionFalse, ReasonSilent, why)
		st.Phase, st.Reason = etcdv1beta2.ClusterPhaseFailed, why
	}
	if st.Phase == etcdv1beta2.ClusterPhaseRunning && len(p.Refusals) > 0 {
		st.Reason = p.Message
	}
}

// activities sets the conditions about the controller's work. Each stays true
// until its work is done.
func activities(j *judgement, s *observe.Observed, p plan.Plan, is sleep) {
	cluster, st := j.cluster, &j.cluster.Status
	if is != awake {
		for _, t := range []etcdv1beta2.ClusterConditionType{etcdv1beta2.ClusterRecovering, etcdv1beta2.ClusterUpgrading, etcdv1beta2.ClusterRolling, etcdv1beta2.ClusterScaling} {
			j.when(t, false, "", "")
		}
		return
	}
	if s.Formed && !s.Quorum && st.Phase == etcdv1beta2.ClusterPhaseRunning {
		return // nothing new is known
	}
	down, rolling, failed := false, false, false
	podRevision, storageRevision := etcd.PodRevision(&cluster.Spec), etcd.StorageRevision(&cluster.Spec)
	spaceRevision := etcd.SpaceRevision(etcd.Raised(&cluster.Spec, s.Before))
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Listed {
			continue
		}
		down = down || !m.Ready()
		rolling = rolling || m.Pod.Exists && (etcd.CompareDigest(&cluster.Spec, m.Target, m.PodRevision) != podRevision || m.SpaceRevision != spaceRevision || m.StorageRevision != storageRevision || m.Claim.Expansion.Asked)
		failed = failed || !m.Learner && (m.DataGone || m.Unresponsive != nil && !m.Serves() && s.Now.Sub(m.Unresponsive.Since) > unavailableAfter)
	}
	changing := s.Voters() != cluster.Spec.Size || s.Voters() != st.Size
	was := st.Condition(etcdv1beta2.ClusterRecovering)
	recovering := s.Formed && (failed || !s.Quorum || (down || changing) && was != nil && was.Status == corev1.ConditionTrue)
	rolling = rolling && s.Formed && !cluster.Spec.Paused
	upgrading := s.Formed && st.TargetVersion != ""
	j.when(etcdv1beta2.ClusterRecovering, recovering, ReasonUnderWay, "failed members are being restarted or replaced")
	j.when(etcdv1beta2.ClusterUpgrading, upgrading, ReasonUnderWay, fmt.Sprintf("from %s to %s", st.CurrentVersion, st.TargetVersion))
	j.when(etcdv1beta2.ClusterRolling, rolling, ReasonUnderWay, rollingMessage(p))
	j.when(etcdv1beta2.ClusterScaling, changing && !recovering && !rolling && !cluster.Spec.Paused && p.Now() != nil, ReasonUnderWay,
		fmt.Sprintf("from %d to %d members", s.Voters(), cluster.Spec.Size))
}

// rollingMessage says what members get, and why one is replaced instead of growing.
func rollingMessage(p plan.Plan) string {
	message := "members get the pods and the storage of the manifest"
	if p.NotExpanding != "" {
		message += "; " + p.NotExpanding
	}
	return message
}

// refused lists all changes that the controller refuses.
func refused(p plan.Plan) string {
	if p.Blocked == plan.InvalidSize {
		return p.Message
	}
	var all []string
	if p.Blocked == plan.RefusedHibernation {
		all = append(all, p.Message)
	}
	for _, r := range p.Refusals {
		all = append(all, r.Field+" "+r.Message)
	}
	return strings.Join(all, "; ")
}
