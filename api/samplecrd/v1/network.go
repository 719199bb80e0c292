package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Network asks for a network that pods can be attached to.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=networks,singular=network,scope=Namespaced,shortName=net,categories=usher
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, the group is that of a published tutorial and was not reviewed"
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="CIDR",type=string,JSONPath=`.status.cidr`
// +kubebuilder:printcolumn:name="Gateway",type=string,JSONPath=`.status.gateway`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="In Use",type=string,JSONPath=`.status.conditions[?(@.type=="InUse")].status`
// +kubebuilder:printcolumn:name="Backend",type=string,priority=1,JSONPath=`.status.backend`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NetworkSpec   `json:"spec"`
	Status NetworkStatus `json:"status,omitempty"`
}

// A NetworkSpec is the desired network.
type NetworkSpec struct {
	// CIDR is the range of addresses of the network, such as 192.168.0.0/16. Host
	// bits are ignored: 192.168.1.0/16 is the same range. A change of the range
	// replaces the network, which waits until the network is not in use.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr"`
	// Gateway is the address of the default gateway, in the range of the network,
	// such as 192.168.0.1. Without a gateway, pods cannot reach other networks. It
	// can be changed; running pods keep their default route until they are
	// recreated.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Gateway string `json:"gateway,omitempty"`
	// DeletionPolicy decides about the network in the backend when the Network is
	// deleted. Delete, the default, removes it first, and so waits for its users
	// and for the backend. Orphan leaves it there. The policy can still be changed
	// while the Network is being deleted, such as if the backend is gone for good.
	//
	// +optional
	// +kubebuilder:validation:Enum=Delete;Orphan
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// A DeletionPolicy decides about the network of a deleted Network.
type DeletionPolicy string

// The policies; none means Delete.
const (
	Delete DeletionPolicy = "Delete"
	Orphan DeletionPolicy = "Orphan"
)

// A NetworkStatus is the existing network.
type NetworkStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions
	// describe.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// CIDR is the range of the existing network, without host bits.
	//
	// +optional
	CIDR string `json:"cidr,omitempty"`
	// Gateway is the gateway of the existing network.
	//
	// +optional
	Gateway string `json:"gateway,omitempty"`
	// Backend is the backend that created the network: multus or neutron.
	//
	// +optional
	Backend string `json:"backend,omitempty"`
	// Resources are the objects that the backend created for the network.
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

// A Resource is an object that a backend created.
type Resource struct {
	// Kind is the kind of the object, such as NetworkAttachmentDefinition or
	// Subnet.
	Kind string `json:"kind"`
	// Name is the name of the object, if it has one.
	//
	// +optional
	Name string `json:"name,omitempty"`
	// ID is the ID of the object, if its name does not identify it.
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
	// InUse: something is attached to the network, or about to be.
	InUse = "InUse"
)
