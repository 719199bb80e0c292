//go:build soak

package etcdsafety_test

import (
	"context"
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
	"github.com/usher-dev/usher/test/previous"
)

// resizer binds claims and has their volumes grow, in place of the volume controller
// and a driver.
func (s *scene) resizer() {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	s.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
			var claims corev1.PersistentVolumeClaimList
			if s.client.List(ctx, &claims, client.InNamespace(s.namespace)) != nil {
				return false, nil
			}
			for i := range claims.Items {
				claim := &claims.Items[i]
				was, asked, has := claim.DeepCopy(), claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
				if claim.Status.Phase == corev1.ClaimBound && has.Cmp(asked) >= 0 {
					continue
				}
				claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
				_ = s.client.Status().Patch(ctx, claim, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
			}
			return false, nil
		})
	}()
}

// TestARollback_KeepsMembersWhoseClaimsWereExpanded gives a cluster of the previous
// release to today's, which expands its claims, and back.
func TestARollback_KeepsMembersWhoseClaimsWereExpanded(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "expands"}, Provisioner: "test.usher.dev/none", AllowVolumeExpansion: ptr.To(true)}
	if err := w.client.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	s := emptyScene(t, w)
	s.resizer()
	c := s.clusterOf(3)
	c.Spec.Pod.PersistentVolumeClaimSpec.StorageClassName = ptr.To("expands")
	s.must(w.client.Create(t.Context(), c))
	s.settled(3)
	s.traffic = s.startTraffic()
	was := s.running()
	kept := func() string {
		now := s.running()
		for name, uid := range was {
			if now[name] != uid {
				return name + " was replaced"
			}
		}
		if len(now) != len(was) {
			return "something was made that was not there"
		}
		return ""
	}
	to := func(controller string) {
		t.Helper()
		stop()
		var err error
		if stop, err = w.startControllerOf(controller); err != nil {
			t.Fatal(err)
		}
		s.throughout(kept)
		s.settled(3)
	}
	to(program)
	for _, size := range []string{"2Gi", "3072Mi"} {
		s.edit(func(spec *etcdv1beta2.ClusterSpec) {
			spec.Pod.PersistentVolumeClaimSpec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
		})
		s.until("the claims have "+size, func(*etcdv1beta2.EtcdCluster) bool { return s.have(size) })
		s.settled(3)
		to(before)
		to(program)
	}
	s.verify()
}

// have reports whether every claim and its volume have the size, and nothing is left
// to record.
func (s *scene) have(size string) bool {
	s.Helper()
	var claims corev1.PersistentVolumeClaimList
	s.must(s.client.List(s.Context(), &claims, client.InNamespace(s.namespace)))
	wanted := resource.MustParse(size)
	for i := range claims.Items {
		claim := &claims.Items[i]
		asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
		if asked.Cmp(wanted) != 0 || has.Cmp(wanted) != 0 || claim.Annotations[wellknown.AnnotationEtcdExpansion] != "" {
			return false
		}
	}
	return len(claims.Items) == 3
}
