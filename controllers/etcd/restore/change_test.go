package restore

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/controllers/etcd/observe"
)

func TestAwaitEnd_OfAPodOnALostNode_SaysWhatToDo(t *testing.T) {
	on := func(name, node string, ends bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		if ends {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		return p
	}
	seed := &observe.Restored{Pod: on("seed", "node-0", true)}
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"of two, the one that ends": {
			[]*corev1.Pod{on("a", "node-1", false), on("b", "node-2", true)},
			"waits for the old members a, b to end; if the node node-2 is lost for good, run: kubectl -n shop delete pod b --force --grace-period=0",
		},
		"none that ends": {[]*corev1.Pod{on("a", "node-1", false)}, "waits for the EtcdCluster controller to replace the old members"},
		"not the seed":   {nil, "waits for the EtcdCluster controller to replace the old members"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := &observe.Objects{Pods: map[string]*corev1.Pod{"seed": seed.Pod}}
			for _, p := range tc.pods {
				objects.Pods[p.Name] = p
			}
			if err := awaitEnd(objects, seed); !waits(err) || err.Error() != tc.want {
				t.Errorf("error is %v", err)
			}
		})
	}
}
