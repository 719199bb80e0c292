package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ClusterConditionType names a condition of a cluster.
type ClusterConditionType string

// The conditions of a cluster.
const (
	// ClusterAvailable: the cluster takes reads and writes.
	ClusterAvailable ClusterConditionType = "Available"
	// ClusterRecovering: members that failed are brought back or replaced.
	ClusterRecovering ClusterConditionType = "Recovering"
	// ClusterScaling: members are added or removed.
	ClusterScaling ClusterConditionType = "Scaling"
	// ClusterUpgrading: members are given another version.
	ClusterUpgrading ClusterConditionType = "Upgrading"

	// ClusterRolling: members are given other pods or storage.
	ClusterRolling ClusterConditionType = "Rolling"
	// ClusterUnsupportedVersion: the version asked for is not run.
	ClusterUnsupportedVersion ClusterConditionType = "UnsupportedVersion"
	// ClusterQuorumLost: too few voters are left, and those missing cannot come
	// back as themselves.
	ClusterQuorumLost ClusterConditionType = "QuorumLost"
	// ClusterStalled: the cluster does not get further without a person; the reason
	// is the pod's own, where there is one.
	ClusterStalled ClusterConditionType = "Stalled"
	// ClusterClaimsSetAside: claims of members that were removed wait to be deleted.
	ClusterClaimsSetAside ClusterConditionType = "ClaimsSetAside"
	// ClusterRetainedClaims: claims of a former cluster of the name are there.
	ClusterRetainedClaims ClusterConditionType = "RetainedClaims"
	// ClusterIgnoredFields: the spec sets fields that have no effect.
	ClusterIgnoredFields ClusterConditionType = "IgnoredFields"
	// ClusterRefusedChange: the spec asks for a change that is not made.
	ClusterRefusedChange ClusterConditionType = "RefusedChange"
	// ClusterMissingReference: a Secret, issuer or class that the spec names is
	// not there.
	ClusterMissingReference ClusterConditionType = "MissingReference"
)

// ClusterCondition is a detail of a cluster's state.
type ClusterCondition struct {
	// Type names it.
	Type ClusterConditionType `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// LastUpdateTime is when anything about it changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// LastTransitionTime is when its status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is the cause in a word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is for people.
	// +optional
	Message string `json:"message,omitempty"`
	// ObservedGeneration is that of the spec it is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Condition returns the condition of that type, or nil.
func (s *ClusterStatus) Condition(t ClusterConditionType) *ClusterCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// SetCondition takes a condition in and says whether that changed anything. Its
// times are kept where nothing did, so that status is not written for nothing.
func (s *ClusterStatus) SetCondition(c ClusterCondition, now metav1.Time) bool {
	was := s.Condition(c.Type)
	if was == nil {
		c.LastUpdateTime, c.LastTransitionTime = now, now
		s.Conditions = append(s.Conditions, c)
		return true
	}
	c.LastUpdateTime, c.LastTransitionTime = was.LastUpdateTime, was.LastTransitionTime
	if *was == c {
		return false
	}
	c.LastUpdateTime = now
	if was.Status != c.Status {
		c.LastTransitionTime = now
	}
	*was = c
	return true
}
