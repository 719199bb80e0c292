package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
)

// Digests of images that contain the versions; see TestMain.
const (
	digest36 = "sha256:3636363636363636363636363636363636363636363636363636363636363636"
	digest37 = "sha256:3737373737373737373737373737373737373737373737373737373737373737"
)

func digests(of map[string]etcdv1beta2.ImageDigest) func(*etcdv1beta2.ClusterSpec) {
	return func(spec *etcdv1beta2.ClusterSpec) { spec.ImageDigests = of }
}

// revised returns a pod's annotations about what it was created from.
func revised(p *corev1.Pod) map[string]string {
	kept := map[string]string{}
	for _, key := range []string{wellknown.AnnotationEtcdPodRevision, wellknown.AnnotationEtcdPodAdditions, wellknown.AnnotationEtcdImageDigest} {
		if value, ok := p.Annotations[key]; ok {
			kept[key] = value
		}
	}
	return kept
}

// TestPodsGetWhatThePreviousReleaseDoesNotKnow also holds that the previous
// release finds its own hash on each pod, so that a rollback restarts none.
func TestPodsGetWhatThePreviousReleaseDoesNotKnow(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	before := s.pods()[0]
	const hash = "37fdec31be" // as in etcd.TestPodRevisionsOfThePreviousRelease
	if got := revised(&before); cmp.Diff(map[string]string{wellknown.AnnotationEtcdPodRevision: hash}, got) != "" {
		t.Errorf("without the fields, the pod has the annotations %v", got)
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway},
		}
		spec.Pod.PriorityClassName = "system-cluster-critical"
		spec.Pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	})
	p := s.another(before.UID)
	spread := p.Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].LabelSelector == nil || cmp.Diff(map[string]string(member.LabelsOf(s.name)), spread[0].LabelSelector.MatchLabels) != "" {
		t.Errorf("the constraint does not count the cluster's members: %v", spread)
	}
	if p.Spec.PriorityClassName != "system-cluster-critical" || len(p.Spec.ImagePullSecrets) != 1 {
		t.Errorf("the pod has the priority class %q and the secrets %v", p.Spec.PriorityClassName, p.Spec.ImagePullSecrets)
	}
	if got := revised(p); got[wellknown.AnnotationEtcdPodRevision] != hash || got[wellknown.AnnotationEtcdPodAdditions] == "" {
		t.Errorf("the pod has the annotations %v: the previous release would restart it", got)
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Pod.PodAdditions = etcdv1beta2.PodAdditions{} })
	last := s.another(p.UID)
	if diff := cmp.Diff(revised(&before), revised(last)); diff != "" {
		t.Errorf("after the fields were removed, the annotations differ: %s", diff)
	}
}

// another waits until the cluster of one is settled with another pod.
func (s *scene) another(than types.UID) *corev1.Pod {
	s.Helper()
	var found *corev1.Pod
	s.until("it has another pod", func(c *etcdv1beta2.EtcdCluster) bool {
		pods := s.pods()
		if len(pods) != 1 || pods[0].UID == than || !whole(c, 1, v36) {
			return false
		}
		found = &pods[0]
		return true
	})
	return found
}

func TestImagesByDigest(t *testing.T) {
	s := newScene(t)
	spec := onClaims(1)
	digests(map[string]etcdv1beta2.ImageDigest{v36: digest36})(&spec)
	s.create(spec)
	s.settled(1, v36)
	first := s.pods()[0]
	if image := first.Spec.Containers[0].Image; !strings.HasSuffix(image, ":v"+v36+"@"+digest36) {
		t.Errorf("the image is %s", image)
	}
	s.looks(3)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Version, spec.ImageDigests = v37, map[string]etcdv1beta2.ImageDigest{v36: digest36, v37: digest37}
	})
	s.settled(1, v37)
	upgraded := s.pods()[0]
	if image := upgraded.Spec.Containers[0].Image; upgraded.UID != first.UID || !strings.HasSuffix(image, ":v"+v37+"@"+digest37) {
		t.Errorf("the image is %s, and the pod another one: %t", image, upgraded.UID != first.UID)
	}
	// The digest of a version that nothing runs matters to no pod.
	s.edit(digests(map[string]etcdv1beta2.ImageDigest{v37: digest37}))
	s.settled(1, v37)
	s.looks(3)
	if now := s.pods()[0]; now.UID != first.UID {
		t.Error("the pod was recreated")
	}
}

func TestADigestOfAnotherVersion_IsReported(t *testing.T) {
	s := newScene(t)
	spec := onClaims(3)
	digests(map[string]etcdv1beta2.ImageDigest{v36: digest37})(&spec)
	s.create(spec)
	s.until("it is said", func(c *etcdv1beta2.EtcdCluster) bool {
		stalled := c.Status.Condition(etcdv1beta2.ClusterStalled)
		return stalled != nil && stalled.Status == corev1.ConditionTrue && stalled.Reason == "ImageVersion" &&
			strings.Contains(stalled.Message, "etcd reports "+v37+" in the image with the digest "+digest37)
	})
	s.looks(3)
	if pods := s.pods(); len(pods) != 1 {
		t.Errorf("the cluster grew to %d pods", len(pods))
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Version, spec.ImageDigests = v37, map[string]etcdv1beta2.ImageDigest{v37: digest37}
	})
	s.settled(3, v37)
	if stalled := condition(s.cluster(), etcdv1beta2.ClusterStalled); stalled != corev1.ConditionFalse {
		t.Errorf("Stalled is %q", stalled)
	}
}

// everyArgument has a value other than the default for each flag that is allowed.
var everyArgument = etcdv1beta2.EtcdArgs{
	"auth-token-ttl": "600", "backend-batch-interval": "50ms", "backend-batch-limit": "5000", "backend-bbolt-freelist-type": "array",
	"bcrypt-cost": "5", "cipher-suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "election-timeout": "1500", "enable-pprof": "true",
	"grpc-keepalive-interval": "1h", "grpc-keepalive-min-time": "6s", "grpc-keepalive-timeout": "10s", "heartbeat-interval": "150",
	"initial-election-tick-advance": "false", "log-level": "warn", "max-request-bytes": "2000000", "max-snapshots": "4", "max-txn-ops": "256",
	"max-wals": "4", "metrics": "extensive", "pre-vote": "false", "snapshot-count": "5000",
}

// TestArgumentsReachEtcd runs each allowed flag in every version that the tests
// have: one that a version does not know makes etcd end.
func TestArgumentsReachEtcd(t *testing.T) {
	s := newScene(t)
	spec := onClaims(1)
	spec.Pod.EtcdArgs = everyArgument
	s.create(spec)
	s.settled(1, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v37 })
	s.settled(1, v37)
	command := s.pods()[0].Spec.Containers[0].Command
	if got := etcd.Arguments(&spec); len(got) != len(everyArgument) {
		t.Errorf("of %d arguments the pod gets %q", len(everyArgument), got)
	} else if !strings.Contains(strings.Join(command, " "), strings.Join(got, " ")) {
		t.Errorf("the command is %q", command)
	}
}
