package cluster_test

import (
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// serviceFamilies returns the families of the cluster's Services.
func (s *scene) serviceFamilies() (all [][]corev1.IPFamily) {
	s.Helper()
	for _, name := range []string{s.name, member.ClientService(s.name)} {
		service := &corev1.Service{}
		s.must(shared.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, service))
		all = append(all, service.Spec.IPFamilies)
	}
	return all
}

// TestAClusterWithIPv6Only runs a member at ::1.
func TestAClusterWithIPv6Only(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no ::1: %v", err)
	}
	_ = probe.Close()
	s := newScene(t)
	spec := onClaims(1)
	spec.IPFamilies = []etcdv1beta2.IPFamily{"IPv6"}
	s.create(spec)
	s.settled(1, v36)
	p := s.pods()[0]
	if p.Status.PodIP != "::1" {
		t.Fatalf("the pod has the address %s", p.Status.PodIP)
	}
	for _, flag := range []string{"--listen-peer-urls=http://[::]:2380", "--listen-client-urls=http://[::]:2379", "--listen-metrics-urls=http://[::]:2381"} {
		if !slices.Contains(p.Spec.Containers[0].Command, flag) {
			t.Errorf("the command lacks %s", flag)
		}
	}
	for _, families := range s.serviceFamilies() {
		if !slices.Equal(families, []corev1.IPFamily{corev1.IPv6Protocol}) {
			t.Errorf("a Service has the families %v", families)
		}
	}
	s.write().verify()
}

// TestServicesBecomeDualStack also holds that Services whose families the spec
// does not name keep what the API server chose.
func TestServicesBecomeDualStack(t *testing.T) {
	s := emptyScene(t)
	s.start()
	spec := onClaims(1)
	s.create(spec)
	s.settled(1, v36)
	s.looks(3)
	one, both := []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	for _, families := range s.serviceFamilies() {
		if !slices.Equal(families, one) {
			t.Errorf("a Service has the families %v", families)
		}
	}
	if command := strings.Join(s.pods()[0].Spec.Containers[0].Command, " "); !strings.Contains(command, "--listen-client-urls=http://0.0.0.0:2379") {
		t.Errorf("without the fields the command is %s", command)
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Paused, spec.IPFamilyPolicy = true, corev1.IPFamilyPolicyRequireDualStack
	})
	s.eventually("the Services have both families", func() bool {
		return slices.EqualFunc(s.serviceFamilies(), [][]corev1.IPFamily{both, both}, slices.Equal)
	})
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.IPFamilyPolicy = corev1.IPFamilyPolicySingleStack })
	s.eventually("the Services have one family", func() bool {
		return slices.EqualFunc(s.serviceFamilies(), [][]corev1.IPFamily{one, one}, slices.Equal)
	})
}
