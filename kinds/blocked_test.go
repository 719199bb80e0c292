package kinds

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestBlocked(t *testing.T) {
	sets := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}}}
	daemons := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}}}
	for name, tt := range map[string]struct {
		object runtime.Object
		want   string
	}{
		"a Deployment":           {&appsv1.Deployment{}, ""},
		"a paused Deployment":    {&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: true}}, "the Deployment is paused; resume it first"},
		"a StatefulSet":          {&appsv1.StatefulSet{}, ""},
		"an OnDelete set":        {sets, "the StatefulSet's update strategy is OnDelete; delete its pods yourself"},
		"a DaemonSet":            {&appsv1.DaemonSet{}, ""},
		"an OnDelete daemon set": {daemons, "the DaemonSet's update strategy is OnDelete; delete its pods yourself"},
	} {
		got := ""
		if err := Blocked(tt.object); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
