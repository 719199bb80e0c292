package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is an etcd cluster whose members run as pods.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclusters,singular=etcdcluster,shortName=etcd,categories=all;usher
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be lower-case letters, digits and dashes after a letter, 52 at most: the members' pods and Services are named after it"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.pod) || !has(oldSelf.spec.pod.persistentVolumeClaimSpec) || has(self.spec.pod) && has(self.spec.pod.persistentVolumeClaimSpec) || !has(oldSelf.status) || !has(oldSelf.status.memberStatuses) || !oldSelf.status.memberStatuses.exists(m, has(m.claim) && m.claim.size() > 0)",message="spec.pod.persistentVolumeClaimSpec cannot be removed while members keep their data on claims: without claims the data is lost when the pods are deleted"
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Healthy",type=integer,JSONPath=`.status.quorum.healthy`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.currentVersion`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Leader",type=string,priority=1,JSONPath=`.status.memberStatuses[?(@.leader==true)].name`
// +kubebuilder:printcolumn:name="DB Size",type=string,priority=1,JSONPath=`.status.memberStatuses[?(@.leader==true)].databaseSize`
// +kubebuilder:printcolumn:name="Step",type=string,priority=1,JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired cluster.
	Spec ClusterSpec `json:"spec"`
	// Status is the last observed state of the cluster.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// EtcdClusterList is a list of EtcdClusters.
//
// +kubebuilder:object:root=true
type EtcdClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EtcdCluster `json:"items"`
}

// ClusterSpec is the desired cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.imageDigests) || self.imageDigests.size() == 0 || !has(self.version) || self.version.size() == 0 || self.version in self.imageDigests || self.version.startsWith('v') && self.version.substring(1) in self.imageDigests",message="imageDigests has no digest of spec.version: add it, and keep the digest of the version that members run until they are upgraded"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || self.ipFamilies.size() < 2 || has(self.ipFamilyPolicy) && self.ipFamilyPolicy != 'SingleStack'",message="two ipFamilies need ipFamilyPolicy: PreferDualStack or RequireDualStack"
// +kubebuilder:validation:XValidation:rule="!has(self.hibernated) || !self.hibernated || has(self.pod) && has(self.pod.persistentVolumeClaimSpec)",message="hibernated needs spec.pod.persistentVolumeClaimSpec: without claims the members lose their data with their pods"
type ClusterSpec struct {
	// Size is the number of members, from 1 to 7. Use an odd size: an even one
	// tolerates no more failures than the odd one below it.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 7",message="a cluster has 1 to 7 members"
	Size int `json:"size"`
	// Repository is the image repository of etcd. The tag is the version with a
	// leading v, such as v3.6.16.
	// +kubebuilder:default="quay.io/coreos/etcd"
	// +optional
	Repository string `json:"repository,omitempty"`
	// Version is the version of etcd, such as 3.6.16. A leading v is ignored.
	// +kubebuilder:default="3.6.16"
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^v?[1-9][0-9]{0,3}([.](0|[1-9][0-9]{0,3})){2}$')",message="is not a released version of etcd: write three numbers, such as 3.6.16"
	// +optional
	Version string `json:"version,omitempty"`
	// ImageDigests are digests of the images of etcd by version, such as 3.6.16:
	// sha256:…. The members run a version that is listed by its digest, and others
	// by their tag. The version stays what etcd must report.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, v.matches('^[1-9][0-9]{0,3}([.](0|[1-9][0-9]{0,3})){2}$'))",message="the keys are versions of etcd: write three numbers, such as 3.6.16"
	// +optional
	ImageDigests map[string]ImageDigest `json:"imageDigests,omitempty"`
	// IPFamilyPolicy is that of the cluster's Services: SingleStack, PreferDualStack
	// or RequireDualStack. Without it the API server chooses.
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	// +optional
	IPFamilyPolicy corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
	// IPFamilies are those of the cluster's Services, such as [IPv6]. The first one
	// cannot change while the Services exist. With IPv6, or with a policy of two
	// families, members listen at the addresses of both.
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self.all(f, f in ['IPv4', 'IPv6']) && (self.size() < 2 || self[0] != self[1])",message="ipFamilies are IPv4, IPv6, or both in the order of preference"
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || oldSelf.size() == 0 || self[0] == oldSelf[0]",message="the first of ipFamilies cannot change, because Services keep it: write the former one first, and the other one after it"
	// +optional
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
	// Paused stops the controller from changing the cluster: it does not add,
	// remove, replace or upgrade members until Paused is false again.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// Hibernated puts the cluster to sleep: the controller deletes the pods of its
	// members, and keeps their claims, their places in the cluster and the size.
	// Once Hibernated is false again, the members start with their data. Members
	// without claims do not hibernate: they would lose their data.
	// +optional
	Hibernated bool `json:"hibernated,omitempty"`
	// Pod configures the members' pods.
	// +optional
	Pod *PodPolicy `json:"pod,omitempty"`
	// ClaimRetention decides about the members' claims when the EtcdCluster is
	// deleted: Retain keeps them, Delete deletes them.
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	// +optional
	ClaimRetention ClaimRetention `json:"claimRetention,omitempty"`
	// TLS encrypts the traffic between members and with clients.
	// +optional
	TLS *TLSPolicy `json:"TLS,omitempty"`
	// Auth manages etcd's authentication. Without it usher leaves authentication
	// as it is. Pods do not depend on it: no member restarts.
	// +optional
	Auth *AuthPolicy `json:"auth,omitempty"`
	// Space decides about the space of the members' databases: their quota,
	// compaction, defragmentation, and what to do once they are full. The controller
	// sets a quota and a compaction when a cluster is created without them.
	// +optional
	Space *SpacePolicy `json:"space,omitempty"`
}

// ClaimRetention decides about claims when their cluster is deleted.
type ClaimRetention string

// The retentions.
const (
	// RetainClaims keeps the claims. It is the default.
	RetainClaims ClaimRetention = "Retain"
	// DeleteClaims deletes the claims.
	DeleteClaims ClaimRetention = "Delete"
)

// PodPolicy configures the members' pods.
type PodPolicy struct {
	// Labels are added to the pods. The label "app" and labels with the prefix
	// "etcd_" or "etcd.usher.dev/" are reserved for the controller.
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('etcd.usher.dev/'))",message="the label app and those that begin with etcd_ or etcd.usher.dev/ are the controller's own"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// NodeSelector limits the nodes that members run on.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Affinity is the pods' affinity. Without it members prefer separate nodes.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// AntiAffinity requires a separate node for each member. It has no effect if
	// affinity is set.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`
	// Resources are the resources of the etcd container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Tolerations are the pods' tolerations.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// EtcdEnv are environment variables of the etcd container. Variables that the
	// controller sets by flags, such as ETCD_DATA_DIR, are not allowed.
	// +optional
	EtcdEnv []corev1.EnvVar `json:"etcdEnv,omitempty"`
	// PersistentVolumeClaimSpec is the claim for the data of each member. Without
	// it a member loses its data when its pod is deleted.
	// +optional
	PersistentVolumeClaimSpec *corev1.PersistentVolumeClaimSpec `json:"persistentVolumeClaimSpec,omitempty"`
	// Annotations are added to the pods. "etcd.version" is reserved for the
	// controller.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// BusyboxImage has no effect: no init container waits for DNS.
	// +optional
	BusyboxImage string `json:"busyboxImage,omitempty"`
	// SecurityContext is the pods' security context.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// DNSTimeoutInSecond has no effect: no init container waits for DNS.
	// +optional
	DNSTimeoutInSecond int64 `json:"DNSTimeoutInSecond,omitempty"`
	// ClusterDomain is the DNS domain of the cluster, such as cluster.local, which
	// is appended to the members' host names.
	// +optional
	ClusterDomain string `json:"ClusterDomain,omitempty"`

	PodAdditions `json:",inline"`
}

// TLSPolicy selects the source of certificates.
//
// +kubebuilder:validation:XValidation:rule="!has(self.static) || !has(self.certManager)",message="write static or certManager, not both"
type TLSPolicy struct {
	// Static names existing Secrets.
	// +optional
	Static *StaticTLS `json:"static,omitempty"`
	// CertManager lets cert-manager issue the certificates.
	// +optional
	CertManager *CertManagerTLS `json:"certManager,omitempty"`
}

// StaticTLS names the Secrets with certificates.
//
// +kubebuilder:validation:XValidation:rule="(has(self.operatorSecret) && self.operatorSecret.size() > 0) == (has(self.member) && has(self.member.serverSecret) && self.member.serverSecret.size() > 0)",message="operatorSecret and member.serverSecret go together: both ends of the client traffic must be encrypted"
type StaticTLS struct {
	// Member names the Secrets of the members.
	// +optional
	Member *MemberSecret `json:"member,omitempty"`
	// OperatorSecret is the name of the Secret with the controller's client
	// certificate: etcd-client.crt, etcd-client.key and etcd-client-ca.crt.
	// +optional
	OperatorSecret string `json:"operatorSecret,omitempty"`
}

// MemberSecret names the Secrets of members.
type MemberSecret struct {
	// PeerSecret is the name of the Secret for the traffic between members:
	// peer.crt, peer.key and peer-ca.crt.
	// +optional
	PeerSecret string `json:"peerSecret,omitempty"`
	// ServerSecret is the name of the Secret for the traffic with clients:
	// server.crt, server.key and server-ca.crt.
	// +optional
	ServerSecret string `json:"serverSecret,omitempty"`
}

// CertManagerTLS requests the certificates of peers, servers and the controller
// from cert-manager.
type CertManagerTLS struct {
	// IssuerRef names the issuer. It must have its own CA, and issue both
	// client and server certificates.
	IssuerRef IssuerReference `json:"issuerRef"`
}

// IssuerReference names a cert-manager issuer.
type IssuerReference struct {
	// Name is the name of the issuer.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Kind is the kind of the issuer: Issuer or ClusterIssuer.
	// +kubebuilder:default=Issuer
	// +optional
	Kind string `json:"kind,omitempty"`
	// Group is the API group of the issuer.
	// +kubebuilder:default="cert-manager.io"
	// +optional
	Group string `json:"group,omitempty"`
}
