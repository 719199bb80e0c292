//go:build e2e

package etcd_test

import (
	"slices"
	"strings"
	"testing"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/cluster/usher"
)

// The tests in this file have the names of those of the original operator of
// this API.

// seed is the well-known manifest of the API.
const seed = `apiVersion: "etcd.database.coreos.com/v1beta2"
kind: "EtcdCluster"
metadata:
  name: "example-etcd-cluster"
spec:
  size: 3
  version: "3.2.13"
`

// TestCreateCluster runs the seed's manifest with only its version replaced:
// 3.2 has no learners, and its maintenance has ended.
func TestCreateCluster(t *testing.T) {
	s := newScene(t)
	s.name = "example-etcd-cluster"
	out, err := shared.Kubectl(t.Context(), seed, "apply", "-n", s.namespace, "-f", "-")
	if err != nil {
		t.Fatal(out)
	}
	if !strings.Contains(out, "3.5") {
		t.Errorf("no warning names the nearest version that is run: %s", out)
	}
	s.until("the version is said not to be run", func(c *etcdv1beta2.EtcdCluster) bool {
		unsupported := c.Status.Condition(etcdv1beta2.ClusterUnsupportedVersion)
		return unsupported != nil && unsupported.Status == "True" && len(s.pods()) == 0
	})
	if out, err := shared.Kubectl(t.Context(), strings.Replace(seed, "3.2.13", v36, 1), "apply", "-n", s.namespace, "-f", "-"); err != nil {
		t.Fatal(out)
	}
	s.settled(3, v36)
}

func TestPauseControl(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(3))
	s.settled(3, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Paused = true })
	s.until("the controller is paused", func(c *etcdv1beta2.EtcdCluster) bool { return c.Status.ControlPaused })
	before := s.names()
	s.deletePods(before[0])
	s.until("the member is seen to be gone", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.Members.Ready) == 2 })
	if len(s.pods()) != 2 || !slices.Equal(before, s.names()) {
		t.Error("a paused cluster was changed")
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Paused = false })
	s.settled(3, v36)
}

func TestEtcdUpgrade(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(3))
	s.settled(3, v36)
	before := s.names()
	w := s.write()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v37 })
	s.settled(3, v37)
	s.verify(w)
	if after := s.names(); !slices.Equal(before, after) {
		t.Errorf("the members were %q and are %q", before, after)
	}
}

func TestReadyMembersStatus(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(3))
	s.settled(3, v36)
	c, err := s.cluster(t.Context())
	s.must(err)
	var pods []string
	for _, p := range s.pods() {
		pods = append(pods, p.Name)
	}
	slices.Sort(pods)
	ready := slices.Sorted(slices.Values(c.Status.Members.Ready))
	if !slices.Equal(pods, ready) {
		t.Errorf("the pods are %q, the ready members %q", pods, ready)
	}
}

func TestCreateClusterWithPV(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(3))
	s.settled(3, v36)
	for _, p := range s.pods() {
		if !slices.ContainsFunc(p.Spec.Volumes, func(v volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == p.Name
		}) {
			t.Errorf("the pod %s is not on its claim", p.Name)
		}
	}
}

func TestOneMemberRecovery(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(3))
	s.settled(3, v36)
	w := s.write()
	lost := s.names()[0]
	s.deletePods(lost)
	s.until("another is in its place", func(c *etcdv1beta2.EtcdCluster) bool {
		return whole(c, 3, v36) && !slices.Contains(s.names(), lost)
	})
	s.verify(w)
}

func TestResizeCluster3to5(t *testing.T) { resize(t, 3, 5) }

func TestResizeCluster5to3(t *testing.T) { resize(t, 5, 3) }

func resize(t *testing.T, from, to int) {
	s := newScene(t)
	s.create(ofSize(from))
	s.settled(from, v36)
	w := s.write()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = to })
	s.settled(to, v36)
	s.verify(w)
}

// TestRestartOperator kills the controller while a cluster grows.
func TestRestartOperator(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
	w := s.write()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 3 })
	s.until("a member is added", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.MemberStatuses) > 1 })
	for _, args := range [][]string{
		{"delete", "pod", "-n", usher.Namespace, "-l", "app.kubernetes.io/component=controller", "--grace-period=0", "--force"},
		{"rollout", "status", "-n", usher.Namespace, "deployment/usher-controller", "--timeout=120s"},
	} {
		if out, err := shared.Kubectl(t.Context(), "", args...); err != nil {
			t.Fatal(out)
		}
	}
	s.settled(3, v36)
	s.verify(w)
}
