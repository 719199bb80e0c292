package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
)

// class creates a StorageClass of the scene.
func (s *scene) class(grows *bool) string {
	s.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{GenerateName: "etcd-test-"},
		Provisioner: "test.usher.dev/none", AllowVolumeExpansion: grows,
	}
	s.must(shared.client.Create(s.ctx, class))
	s.Cleanup(func() { _ = shared.client.Delete(context.WithoutCancel(s.ctx), class) })
	return class.Name
}

func (s *scene) claimList() []corev1.PersistentVolumeClaim {
	s.Helper()
	var claims corev1.PersistentVolumeClaimList
	s.must(shared.client.List(context.WithoutCancel(s.ctx), &claims, client.InNamespace(s.namespace)))
	return claims.Items
}

// resizer plays the volume controller, which binds claims, and the external resizer,
// which the caller lets change the status of a claim that is too small.
func (s *scene) resizer(grow func(*corev1.PersistentVolumeClaim)) {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	s.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
			var claims corev1.PersistentVolumeClaimList
			if shared.client.List(ctx, &claims, client.InNamespace(s.namespace)) != nil {
				return false, nil
			}
			for i := range claims.Items {
				claim := &claims.Items[i]
				was := claim.DeepCopy()
				asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
				switch {
				case claim.Status.Phase != corev1.ClaimBound:
					claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
				case has.Cmp(asked) < 0:
					grow(claim)
				default:
					continue
				}
				// The next round repeats what fails.
				_ = shared.client.Status().Patch(ctx, claim, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
			}
			return false, nil
		})
	}()
}

func hasGrown(claim *corev1.PersistentVolumeClaim) {
	claim.Status.Capacity, claim.Status.Conditions = claim.Spec.Resources.Requests, nil
}

func onClass(size int, class string) etcdv1beta2.ClusterSpec {
	spec := onClaims(size)
	spec.Pod.PersistentVolumeClaimSpec.StorageClassName = &class
	return spec
}

func storage(size string) func(*etcdv1beta2.ClusterSpec) {
	return func(spec *etcdv1beta2.ClusterSpec) {
		spec.Pod.PersistentVolumeClaimSpec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
	}
}

// grown waits until every claim in use has the size and, for every release, the hash
// of the spec.
func (s *scene) grown(members int) {
	s.Helper()
	s.until("the claims have the size of the spec", func(c *etcdv1beta2.EtcdCluster) bool {
		wanted, revision := etcd.RequestedStorage(&c.Spec), etcd.StorageRevision(&c.Spec)
		for _, claim := range s.claimList() {
			if claim.Labels[wellknown.LabelEtcdMember] == "" || claim.Labels[wellknown.LabelEtcdSetAside] != "" {
				continue
			}
			asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
			_, growing := claim.Annotations[wellknown.AnnotationEtcdExpansion]
			if growing || asked.Cmp(wanted) != 0 || has.Cmp(wanted) < 0 || claim.Annotations[wellknown.AnnotationEtcdStorageRevision] != revision {
				return false
			}
		}
		for _, p := range s.pods() {
			if p.Annotations[wellknown.AnnotationEtcdStorageRevision] != revision {
				return false
			}
		}
		for _, m := range c.Status.MemberStatuses {
			if m.StorageRevision != revision || m.Storage == nil || m.Storage.Cmp(wanted) != 0 {
				return false
			}
		}
		return whole(c, members, v36)
	})
}

// claimUIDs returns the claims in use.
func (s *scene) claimUIDs() (all []string) {
	s.Helper()
	for _, m := range s.cluster().Status.MemberStatuses {
		all = append(all, m.Name+" "+m.ClaimUID)
	}
	return all
}

func TestClaimsGrow_WhileMembersRunAndClientsWrite(t *testing.T) {
	for name, grow := range map[string]func(*corev1.PersistentVolumeClaim){
		"at once": hasGrown,
		"with their file systems": func(claim *corev1.PersistentVolumeClaim) {
			if member.ExpansionOf(claim).Mounting != nil {
				hasGrown(claim)
				return
			}
			claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.resizer(grow)
			s.create(onClass(3, s.class(ptr.To(true))))
			s.settled(3, v36)
			pods, claims := s.uids(), s.claimUIDs()
			w := s.write()
			for _, size := range []string{"2048Mi", "3Gi"} {
				s.edit(storage(size))
				s.grown(3)
			}
			if after := s.uids(); !equal(pods, after) {
				t.Errorf("the pods were %q and are %q", pods, after)
			}
			if after := s.claimUIDs(); !equal(claims, after) {
				t.Errorf("the claims were %q and are %q", claims, after)
			}
			for _, p := range s.pods() {
				if n := p.Status.ContainerStatuses[0].RestartCount; n != 0 {
					t.Errorf("the container of %s was restarted %d times", p.Name, n)
				}
			}
			if aside := s.cluster().Status.SetAside; len(aside) > 0 {
				t.Errorf("claims are set aside: %v", aside)
			}
			w.verify()
		})
	}
}

// TestClaimsThatCannotGrow_HaveTheirMembersReplaced says why each time.
func TestClaimsThatCannotGrow_HaveTheirMembersReplaced(t *testing.T) {
	infeasible := func(claim *corev1.PersistentVolumeClaim) {
		claim.Status.AllocatedResources = claim.Spec.Resources.Requests
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible}
	}
	for name, c := range map[string]struct {
		allows *bool
		grow   func(*corev1.PersistentVolumeClaim)
		gone   bool
		denied bool
		why    string
	}{
		"by their class":               {ptr.To(false), hasGrown, false, false, "does not have allowVolumeExpansion: true"},
		"by a class's default":         {nil, hasGrown, false, false, "does not have allowVolumeExpansion: true"},
		"by their driver":              {ptr.To(true), infeasible, false, false, "its driver says: ControllerResizeInfeasible"},
		"without their class":          {ptr.To(true), hasGrown, true, false, "does not exist"},
		"without the right to read it": {ptr.To(true), hasGrown, false, true, "usher may not read its StorageClass"},
	} {
		t.Run(name, func(t *testing.T) {
			s := emptyScene(t)
			if c.denied {
				s.change = (*etcdcluster.Controller).DenyClasses
			}
			s.start()
			s.resizer(c.grow)
			class := s.class(c.allows)
			s.create(onClass(1, class))
			s.settled(1, v36)
			before := s.names()
			if c.gone {
				s.must(shared.client.Delete(s.ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}}))
			}
			w := s.write()
			s.edit(storage("2Gi"))
			s.until("it says why", func(now *etcdv1beta2.EtcdCluster) bool {
				rolling := now.Status.Condition(etcdv1beta2.ClusterRolling)
				return rolling != nil && strings.Contains(rolling.Message, "cannot grow: ") && strings.Contains(rolling.Message, c.why)
			})
			s.until("the member is replaced", func(c *etcdv1beta2.EtcdCluster) bool {
				return whole(c, 1, v36) && !equal(before, s.names())
			})
			s.grown(1)
			w.verify()
		})
	}
}

// TestAControllerThatEndsWhileAClaimGrows_GoesOn also finds a pod that does not
// record yet that its claim was told to grow.
func TestAControllerThatEndsWhileAClaimGrows_GoesOn(t *testing.T) {
	s := newScene(t)
	s.resizer(func(claim *corev1.PersistentVolumeClaim) {
		if claim.Labels["test.usher.dev/free"] != "" {
			hasGrown(claim)
		}
	})
	s.create(onClass(1, s.class(ptr.To(true))))
	s.settled(1, v36)
	pods, old := s.uids(), etcd.StorageRevision(&s.cluster().Spec)
	s.edit(storage("2Gi"))
	name := s.names()[0]
	s.until("the claim grows", func(c *etcdv1beta2.EtcdCluster) bool {
		return c.Status.Step == "waits until the volume of "+name+" has grown to 2Gi"
	})
	s.stop()
	p := s.pods()[0]
	was := p.DeepCopy()
	p.Annotations[wellknown.AnnotationEtcdStorageRevision] = old
	s.must(shared.client.Patch(s.ctx, &p, client.MergeFrom(was)))
	claim := s.claimList()[0]
	before := claim.DeepCopy()
	claim.Labels["test.usher.dev/free"] = "true"
	s.must(shared.client.Patch(s.ctx, &claim, client.MergeFrom(before)))
	s.start()
	s.grown(1)
	if after := s.uids(); !equal(pods, after) {
		t.Errorf("the pods were %q and are %q", pods, after)
	}
}
