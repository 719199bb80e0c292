package drift

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestDone(t *testing.T) {
	meta := metav1.ObjectMeta{Generation: 2}
	deployment := func(replicas *int32, s appsv1.DeploymentStatus) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: replicas}, Status: s}
	}
	set := func(partition *int32, s appsv1.StatefulSetStatus) *appsv1.StatefulSet {
		spec := appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)}
		if partition != nil {
			spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: partition}
		}
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: spec, Status: s}
	}
	daemons := func(s appsv1.DaemonSetStatus) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{ObjectMeta: meta, Status: s}
	}
	for name, tt := range map[string]struct {
		object client.Object
		want   bool
	}{
		"a Deployment":                      {deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}), true},
		"its controller has not seen it":    {deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}), false},
		"an old pod remains":                {deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 1}), false},
		"a pod is not available":            {deployment(ptr.To[int32](2), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 1}), false},
		"a Deployment without pods":         {deployment(ptr.To[int32](0), appsv1.DeploymentStatus{ObservedGeneration: 2}), true},
		"a StatefulSet":                     {set(nil, appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 3, AvailableReplicas: 3}), true},
		"a StatefulSet in between":          {set(nil, appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 2, AvailableReplicas: 3}), false},
		"a StatefulSet with a partition":    {set(ptr.To[int32](2), appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 3}), true},
		"a partition above the replicas":    {set(ptr.To[int32](5), appsv1.StatefulSetStatus{ObservedGeneration: 2, AvailableReplicas: 3}), true},
		"a StatefulSet not available":       {set(ptr.To[int32](2), appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 2}), false},
		"a DaemonSet":                       {daemons(appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2}), true},
		"a DaemonSet on one of two nodes":   {daemons(appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 2, UpdatedNumberScheduled: 1, NumberAvailable: 2}), false},
		"a kind that has no rollout at all": {&appsv1.ReplicaSet{}, false},
	} {
		if got := done(tt.object); got != tt.want {
			t.Errorf("%s: done is %v, want %v", name, got, tt.want)
		}
	}
}
