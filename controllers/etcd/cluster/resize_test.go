package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
)

func requests(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

func limits(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}
}

func resources(to corev1.ResourceRequirements) func(*etcdv1beta2.ClusterSpec) {
	return func(spec *etcdv1beta2.ClusterSpec) { spec.Pod.Resources = to }
}

// sizedAs waits until every pod has the resources and, for every release, the
// hash of the spec.
func (s *scene) sizedAs(size int) {
	s.Helper()
	s.until("the pods have the resources of the spec", func(c *etcdv1beta2.EtcdCluster) bool {
		for _, p := range s.pods() {
			_, resizing := p.Annotations[wellknown.AnnotationEtcdResize]
			want := etcd.Resources(&c.Spec)
			has := p.Spec.Containers[0].Resources
			if resizing || p.Annotations[wellknown.AnnotationEtcdPodRevision] != etcd.PodRevision(&c.Spec) ||
				!has.Requests.Cpu().Equal(*want.Requests.Cpu()) || !has.Limits.Memory().Equal(*want.Limits.Memory()) {
				return false
			}
		}
		return whole(c, size, v36)
	})
}

func TestResourcesChangeInPlace(t *testing.T) {
	for name, c := range map[string]struct{ from, to corev1.ResourceRequirements }{
		"requests": {requests("100m"), requests("200m")},
		// The API server adds requests to these.
		"limits": {limits("1", "1Gi"), limits("2", "2Gi")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			spec := onClaims(3)
			resources(c.from)(&spec)
			s.create(spec)
			s.settled(3, v36)
			before := s.uids()
			w := s.write()
			s.edit(resources(c.to))
			s.sizedAs(3)
			if after := s.uids(); !equal(before, after) {
				t.Errorf("the pods were %q and are %q", before, after)
			}
			for _, p := range s.pods() {
				if n := p.Status.ContainerStatuses[0].RestartCount; n != 0 {
					t.Errorf("the container of %s was restarted %d times", p.Name, n)
				}
			}
			w.verify()
		})
	}
}

// TestResourcesThatCannotChangeInPlace_RecreateThePod: the kubelet or the API
// server refuses.
func TestResourcesThatCannotChangeInPlace_RecreateThePod(t *testing.T) {
	for name, c := range map[string]struct {
		from, to corev1.ResourceRequirements
		answer   corev1.PodCondition
	}{
		"infeasible":              {requests("100m"), requests("7"), corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible, Message: "Node didn't have enough capacity: cpu"}},
		"more than the node has":  {requests("100m"), requests("100"), corev1.PodCondition{}},
		"another class":           {corev1.ResourceRequirements{}, requests("100m"), corev1.PodCondition{}},
		"a request that is taken": {limits("1", "1Gi"), requests("1"), corev1.PodCondition{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			spec := onClaims(1)
			resources(c.from)(&spec)
			s.create(spec)
			s.settled(1, v36)
			before := s.pods()[0]
			shared.kubelet.Resizes(s.namespace, before.Name, c.answer)
			s.edit(resources(c.to))
			s.another(before.UID)
			s.sizedAs(1)
		})
	}
}

// TestResourcesThatAreTakenBack_RestartNothing: the node has no room for them
// yet.
func TestResourcesThatAreTakenBack_RestartNothing(t *testing.T) {
	s := newScene(t)
	spec := onClaims(1)
	resources(requests("100m"))(&spec)
	s.create(spec)
	s.settled(1, v36)
	before := s.pods()[0]
	shared.kubelet.Resizes(s.namespace, before.Name, corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonDeferred})
	s.edit(resources(requests("200m")))
	s.until("it waits", func(c *etcdv1beta2.EtcdCluster) bool {
		return c.Status.Step == "waits until the kubelet of "+before.Name+" has changed its resources"
	})
	s.looks(3)
	s.edit(resources(requests("100m")))
	s.sizedAs(1)
	if now := s.pods()[0]; now.UID != before.UID {
		t.Error("the pod was recreated")
	}
	// And what the kubelet has deferred is applied once it has room.
	s.edit(resources(requests("300m")))
	s.until("it waits", func(c *etcdv1beta2.EtcdCluster) bool {
		return c.Status.Step != "" && c.Status.ObservedGeneration == c.Generation
	})
	shared.kubelet.Resizes(s.namespace, before.Name, corev1.PodCondition{})
	s.sizedAs(1)
	if now := s.pods()[0]; now.UID != before.UID {
		t.Error("the pod was recreated")
	}
}
