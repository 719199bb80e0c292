package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ClusterConditionType names a condition of a cluster.
type ClusterConditionType string

// The conditions of a cluster.
const (
	// ClusterAvailable: the cluster accepts reads and writes.
	ClusterAvailable ClusterConditionType = "Available"
	// ClusterRecovering: failed members are being restarted or replaced.
	ClusterRecovering ClusterConditionType = "Recovering"
	// ClusterScaling: members are being added or removed.
	ClusterScaling ClusterConditionType = "Scaling"
	// ClusterUpgrading: members are being moved to another version.
	ClusterUpgrading ClusterConditionType = "Upgrading"

	// ClusterRolling: members are getting new pods or storage.
	ClusterRolling ClusterConditionType = "Rolling"
	// ClusterUnsupportedVersion: usher does not run the version in the spec.
	ClusterUnsupportedVersion ClusterConditionType = "UnsupportedVersion"
	// ClusterQuorumLost: too few voters are left, and the missing ones have lost
	// their data.
	ClusterQuorumLost ClusterConditionType = "QuorumLost"
	// ClusterStalled: the cluster needs human intervention. The reason is that of
	// the pod, if it has one.
	ClusterStalled ClusterConditionType = "Stalled"
	// ClusterClaimsSetAside: claims of removed members wait to be deleted.
	ClusterClaimsSetAside ClusterConditionType = "ClaimsSetAside"
	// ClusterRetainedClaims: claims of a former cluster of the same name exist.
	ClusterRetainedClaims ClusterConditionType = "RetainedClaims"
	// ClusterIgnoredFields: the spec sets fields that have no effect.
	ClusterIgnoredFields ClusterConditionType = "IgnoredFields"
	// ClusterRefusedChange: the controller refuses a change in the spec.
	ClusterRefusedChange ClusterConditionType = "RefusedChange"
	// ClusterMissingReference: a Secret, issuer or class that the spec names does
	// not exist.
	ClusterMissingReference ClusterConditionType = "MissingReference"
	// ClusterMissingCredentials: members refuse usher's client, which needs other
	// credentials.
	ClusterMissingCredentials ClusterConditionType = "MissingCredentials"
	// ClusterAuthenticationEnabled: etcd's authentication is enabled, as far as
	// spec.auth manages it.
	ClusterAuthenticationEnabled ClusterConditionType = "AuthenticationEnabled"
	// ClusterNoSpace: etcd's alarm NOSPACE is raised, and etcd refuses writes.
	ClusterNoSpace ClusterConditionType = "NoSpace"
	// ClusterCorrupt: etcd's alarm CORRUPT is raised, and etcd refuses reads and
	// writes.
	ClusterCorrupt ClusterConditionType = "Corrupt"
	// ClusterChangingCertificates: members are given another CA. The reason is the
	// step, and the message says what clients may do.
	ClusterChangingCertificates ClusterConditionType = "ChangingCertificates"
	// ClusterInvalidCertificates: the certificates in the Secrets of the spec
	// cannot work, so that members keep theirs.
	ClusterInvalidCertificates ClusterConditionType = "InvalidCertificates"
	// ClusterHibernated: the spec hibernates the cluster, and no pod of it is left.
	ClusterHibernated ClusterConditionType = "Hibernated"
	// ClusterDefragmenting: a member is being defragmented.
	ClusterDefragmenting ClusterConditionType = "Defragmenting"
	// ClusterSpaceStalled: something keeps the controller from a defragmentation that
	// is due, from ending the alarm NOSPACE, or from setting the quota.
	ClusterSpaceStalled ClusterConditionType = "SpaceStalled"
)

// ClusterCondition is a detail of a cluster's state.
type ClusterCondition struct {
	// Type is the type of the condition, such as Available.
	Type ClusterConditionType `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// LastUpdateTime is when any field of the condition changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// LastTransitionTime is when the status of the condition changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is the cause as a CamelCase word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is a human-readable explanation.
	// +optional
	Message string `json:"message,omitempty"`
	// ObservedGeneration is the generation of the spec that the condition
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Condition returns the condition of the given type, or nil.
func (s *ClusterStatus) Condition(t ClusterConditionType) *ClusterCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// SetCondition sets a condition, and reports whether it changed. An unchanged
// condition keeps its times, so that the controller need not write the status.
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
