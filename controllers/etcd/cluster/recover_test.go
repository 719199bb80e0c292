package cluster_test

import (
	"testing"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// losses are the ways to lose a member; stories_test.go adds others.
var losses = map[string]func(*scene, string){
	"its pod is deleted": func(s *scene, name string) { s.deletePod(name) },
}

func TestALostMemberIsReplaced(t *testing.T) {
	t.Parallel()
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.create(ofSize(3))
			s.settled(3, v36)
			w := s.write()
			before := s.names()
			lose(s, before[0])
			s.until("another is in its place", func(c *etcdv1beta2.EtcdCluster) bool {
				return whole(c, 3, v36) && !contains(s.names(), before[0])
			})
			w.verify()
		})
	}
}

// crashing are the clusters whose members crash; stories_test.go adds others.
var crashing = map[string]etcdv1beta2.ClusterSpec{"with a claim": onClaims(3)}

func TestAMemberThatCrashesComesBack(t *testing.T) {
	t.Parallel()
	for name, spec := range crashing {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.create(spec)
			s.settled(3, v36)
			before := s.names()
			w := s.write()
			s.must(shared.kubelet.Kill(s.namespace, before[0]))
			s.until("the member was started again", func(*etcdv1beta2.EtcdCluster) bool {
				for _, p := range s.pods() {
					if p.Name == before[0] && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount > 0 {
						return true
					}
				}
				return false
			})
			s.settled(3, v36)
			w.verify()
			if after := s.names(); !equal(before, after) {
				t.Errorf("the members were %q and are %q", before, after)
			}
		})
	}
}

func TestAClusterOnClaimsComesBackWhole(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(3))
	s.settled(3, v36)
	w := s.write()
	before := s.names()
	for _, name := range before {
		s.deletePod(name)
	}
	s.until("the cluster was seen down", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.Members.Ready) < 2 })
	s.settled(3, v36)
	w.verify()
	if after := s.names(); !equal(before, after) {
		t.Errorf("the members were %q and are %q", before, after)
	}
}

func TestDeletedObjectsAreRecreated(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(2))
	s.settled(2, v36)
	for _, what := range []string{"service/example", "service/example-client", "poddisruptionbudget/example"} {
		if out, err := shared.plane.Kubectl(s.ctx, "", "-n", s.namespace, "delete", what); err != nil {
			t.Fatal(out)
		}
		s.until(what+" is there", func(*etcdv1beta2.EtcdCluster) bool {
			_, err := shared.plane.Kubectl(s.ctx, "", "-n", s.namespace, "get", what)
			return err == nil
		})
	}
}
