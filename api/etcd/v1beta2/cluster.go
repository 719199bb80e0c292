package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is an etcd cluster whose members run as pods.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclusters,singular=etcdcluster,shortName=etcd,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be lower-case letters, digits and dashes after a letter, 52 at most: the members' pods and Services are named after it"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.pod) || !has(oldSelf.spec.pod.persistentVolumeClaimSpec) || has(self.spec.pod) && has(self.spec.pod.persistentVolumeClaimSpec) || !has(oldSelf.status) || !has(oldSelf.status.memberStatuses) || !oldSelf.status.memberStatuses.exists(m, has(m.claim) && m.claim.size() > 0)",message="spec.pod.persistentVolumeClaimSpec cannot be given up while members keep their data on claims: without claims the data is gone when the pods are"
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.currentVersion`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Step",type=string,priority=1,JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec ClusterSpec `json:"spec"`
	// Status is what was last seen.
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

// ClusterSpec is the cluster that is wanted.
type ClusterSpec struct {
	// Size is the number of members, 1 to 7. Odd sizes survive more: an even one
	// tolerates no more failures than the odd one below it.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 7",message="a cluster has 1 to 7 members"
	Size int `json:"size"`
	// Repository holds the images; each version is a tag, v before its number.
	// +kubebuilder:default="quay.io/coreos/etcd"
	// +optional
	Repository string `json:"repository,omitempty"`
	// Version is the version of etcd, such as 3.6.16; a leading v is ignored.
	// +kubebuilder:default="3.6.16"
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^v?[1-9][0-9]{0,3}([.](0|[1-9][0-9]{0,3})){2}$')",message="is no released version of etcd: write three numbers, such as 3.6.16"
	// +optional
	Version string `json:"version,omitempty"`
	// Paused leaves the cluster as it is: no member is added, removed, replaced
	// or upgraded until it is false again.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// Pod is about the members' pods.
	// +optional
	Pod *PodPolicy `json:"pod,omitempty"`
	// ClaimRetention is what becomes of the members' claims when the EtcdCluster is
	// deleted: Retain keeps them, Delete deletes them with it.
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	// +optional
	ClaimRetention ClaimRetention `json:"claimRetention,omitempty"`
	// TLS secures the traffic between members and with clients.
	// +optional
	TLS *TLSPolicy `json:"TLS,omitempty"`
}

// ClaimRetention is what becomes of claims when their cluster is deleted.
type ClaimRetention string

// The retentions.
const (
	// RetainClaims keeps them; it is the default.
	RetainClaims ClaimRetention = "Retain"
	// DeleteClaims deletes them.
	DeleteClaims ClaimRetention = "Delete"
)

// PodPolicy is about the members' pods.
type PodPolicy struct {
	// Labels are added to the pods. The label "app" and those that begin with
	// "etcd_" or "etcd.usher.dev/" are the controller's own.
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'app' || k.startsWith('etcd_') || k.startsWith('etcd.usher.dev/'))",message="the label app and those that begin with etcd_ or etcd.usher.dev/ are the controller's own"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// NodeSelector limits the nodes.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Affinity is the pods' affinity. Where it is not set, members prefer nodes
	// of their own.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// AntiAffinity puts every member on a node of its own, or nowhere. It has no
	// effect where affinity is set.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`
	// Resources are those of the etcd container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Tolerations are the pods'.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// EtcdEnv are environment variables of the etcd container. Those by which
	// the controller forms the cluster cannot be set.
	// +optional
	EtcdEnv []corev1.EnvVar `json:"etcdEnv,omitempty"`
	// PersistentVolumeClaimSpec is the claim that each member keeps its data on.
	// Without it the data lives as long as the member's pod.
	// +optional
	PersistentVolumeClaimSpec *corev1.PersistentVolumeClaimSpec `json:"persistentVolumeClaimSpec,omitempty"`
	// Annotations are added to the pods; "etcd.version" is the controller's own.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// BusyboxImage has no effect: no init container waits for DNS.
	// +optional
	BusyboxImage string `json:"busyboxImage,omitempty"`
	// SecurityContext is the pods'.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// DNSTimeoutInSecond has no effect: no init container waits for DNS.
	// +optional
	DNSTimeoutInSecond int64 `json:"DNSTimeoutInSecond,omitempty"`
	// ClusterDomain is put after the names of members, such as cluster.local.
	// +optional
	ClusterDomain string `json:"ClusterDomain,omitempty"`
}

// TLSPolicy is where certificates come from.
//
// +kubebuilder:validation:XValidation:rule="!has(self.static) || !has(self.certManager)",message="write static or certManager, not both"
type TLSPolicy struct {
	// Static names Secrets that exist.
	// +optional
	Static *StaticTLS `json:"static,omitempty"`
	// CertManager has cert-manager issue the certificates instead.
	// +optional
	CertManager *CertManagerTLS `json:"certManager,omitempty"`
}

// StaticTLS names the Secrets that hold certificates.
//
// +kubebuilder:validation:XValidation:rule="(has(self.operatorSecret) && self.operatorSecret.size() > 0) == (has(self.member) && has(self.member.serverSecret) && self.member.serverSecret.size() > 0)",message="operatorSecret and member.serverSecret go together: one end of the clients' traffic cannot be encrypted alone"
type StaticTLS struct {
	// Member are the Secrets of the members.
	// +optional
	Member *MemberSecret `json:"member,omitempty"`
	// OperatorSecret is the Secret of the controller, a client of the cluster:
	// etcd-client.crt, etcd-client.key and etcd-client-ca.crt.
	// +optional
	OperatorSecret string `json:"operatorSecret,omitempty"`
}

// MemberSecret names the Secrets of members.
type MemberSecret struct {
	// PeerSecret is for the traffic between members: peer.crt, peer.key and
	// peer-ca.crt.
	// +optional
	PeerSecret string `json:"peerSecret,omitempty"`
	// ServerSecret is for clients: server.crt, server.key and server-ca.crt.
	// +optional
	ServerSecret string `json:"serverSecret,omitempty"`
}

// CertManagerTLS asks cert-manager for the certificates of peers, servers and
// the controller.
type CertManagerTLS struct {
	// IssuerRef is who issues them: one that signs for clients and servers, with
	// a CA of its own.
	IssuerRef IssuerReference `json:"issuerRef"`
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// Name is the issuer's.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Kind is Issuer or ClusterIssuer.
	// +kubebuilder:default=Issuer
	// +optional
	Kind string `json:"kind,omitempty"`
	// Group is the issuer's.
	// +kubebuilder:default="cert-manager.io"
	// +optional
	Group string `json:"group,omitempty"`
}
