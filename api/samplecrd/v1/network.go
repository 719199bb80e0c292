package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Network asks for a network that pods can be attached to.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=networks,singular=network,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, the group is that of a published tutorial and nobody reviewed it"
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="CIDR",type=string,JSONPath=`.status.cidr`
// +kubebuilder:printcolumn:name="Gateway",type=string,JSONPath=`.status.gateway`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="In Use",type=string,JSONPath=`.status.conditions[?(@.type=="InUse")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Backend",type=string,priority=1,JSONPath=`.status.backend`
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NetworkSpec   `json:"spec"`
	Status NetworkStatus `json:"status,omitempty"`
}

// A NetworkSpec is the network that is asked for.
type NetworkSpec struct {
	// CIDR is the range of its addresses, such as 192.168.0.0/16. Bits behind
	// the prefix do not count: 192.168.1.0/16 is the same range. To change the
	// range is to replace the network, which is done while nothing uses it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr"`
	// Gateway is the address in the range by which the network is left; a
	// network without one is left by nobody. It can be changed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Gateway string `json:"gateway,omitempty"`
}

// A NetworkStatus is the network that exists.
type NetworkStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions
	// speak of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// CIDR is the range of the network that exists, without bits behind the
	// prefix.
	//
	// +optional
	CIDR string `json:"cidr,omitempty"`
	// Gateway is that of the network that exists.
	//
	// +optional
	Gateway string `json:"gateway,omitempty"`
	// Backend is what made the network: multus or neutron.
	//
	// +optional
	Backend string `json:"backend,omitempty"`
	// Resources are what was made for it, where the backend makes things.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Resources []Resource `json:"resources,omitempty"`
	// Conditions are Ready and InUse.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// A Resource is one thing that a backend made.
type Resource struct {
	// Kind of thing, as the backend calls it, such as
	// NetworkAttachmentDefinition or Subnet.
	Kind string `json:"kind"`
	// Name of the thing, where it has one.
	//
	// +optional
	Name string `json:"name,omitempty"`
	// ID of the thing, where its name is not what finds it.
	//
	// +optional
	ID string `json:"id,omitempty"`
}

// A NetworkList is a list of Networks.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Network `json:"items"`
}

// The types of a Network's conditions.
const (
	// Ready: the network exists as the spec asks.
	Ready = "Ready"
	// InUse: something is attached to it, or about to be.
	InUse = "InUse"
)

// Finalizer keeps a Network until what was made for it is gone.
const Finalizer = GroupName + "/network"
