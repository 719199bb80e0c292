package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API's group.
const GroupName = "samplecrd.k8s.io"

// Kind is the kind of a Network.
const Kind = "Network"

// GroupVersion returns the API's group and version.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: GroupName, Version: "v1"} }

// AddToScheme adds the API's types to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &Network{}, &NetworkList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
