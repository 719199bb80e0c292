//go:build e2e || soak

package etcdsafety_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// TestTheClaimsOfADeletedCluster deletes clusters, and recreates others with
// the name.
func TestTheClaimsOfADeletedCluster(t *testing.T) {
	w, err := newWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	if err := w.collectGarbage(); err != nil {
		t.Fatal(err)
	}
	stop, err := w.startController()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("are adopted by another when that is asked for", func(t *testing.T) {
		s := newScene(t, w, 3)
		members, claims := s.members(), s.claims()
		if f := s.cluster().Finalizers; len(f) > 0 {
			t.Errorf("a cluster that keeps its claims has the finalizers %q", f)
		}
		s.untilIdentified()
		s.must(s.client.Delete(t.Context(), s.cluster()))
		s.collected(claims)
		s.must(s.client.Create(t.Context(), s.clusterOf(3)))
		s.until("the claims are told of", func(c *etcdv1beta2.EtcdCluster) bool {
			told := c.Status.Condition(etcdv1beta2.ClusterRetainedClaims)
			return told != nil && told.Status == corev1.ConditionTrue && strings.Contains(told.Message, strings.Join(members, ", "))
		})
		s.throughout(func() string {
			if pods := s.pods(); len(pods) > 0 {
				return "a pod was made: " + pods[0].Name
			}
			return s.sameData(claims)
		})
		s.retained("adopt")
		s.settled(3)
		if now := s.members(); !slices.Equal(members, now) {
			t.Errorf("the members were %q and are %q", members, now)
		}
		if problem := s.sameData(claims); problem != "" {
			t.Error(problem)
		}
		s.verify() // including what was written before the deletion
	})
	t.Run("are left alone by another when that is asked for", func(t *testing.T) {
		s := newScene(t, w, 1)
		members, claims := s.members(), s.claims()
		s.traffic.Stop()
		s.must(s.client.Delete(t.Context(), s.cluster()))
		s.collected(claims)
		again := s.clusterOf(1)
		again.Annotations = map[string]string{wellknown.AnnotationEtcdRetained: "ignore"}
		s.must(s.client.Create(t.Context(), again))
		s.settled(1)
		if now := s.members(); slices.Equal(members, now) {
			t.Errorf("the member is %q again", now)
		}
		now := s.claims()
		if len(now) != 2 || now[members[0]] != claims[members[0]] {
			t.Errorf("the claims were %v and are %v", claims, now)
		}
	})
	t.Run("are deleted with it when that is asked for", func(t *testing.T) {
		s := newScene(t, w, 3)
		s.traffic.Stop()
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size, spec.ClaimRetention = 1, etcdv1beta2.DeleteClaims })
		s.settled(1)
		s.until("two claims are set aside", func(c *etcdv1beta2.EtcdCluster) bool {
			return len(s.setAside()) == 2 && len(c.Status.SetAside) == 2 && says(c, etcdv1beta2.ClusterClaimsSetAside) == corev1.ConditionTrue
		})
		if f := s.cluster().Finalizers; !slices.Equal(f, []string{wellknown.FinalizerEtcdClaims}) {
			t.Errorf("the finalizers are %q", f)
		}
		s.must(s.client.Delete(t.Context(), s.cluster()))
		s.untilGone()
		s.eventually("no claim is left", func(ctx context.Context) (bool, error) {
			var left corev1.PersistentVolumeClaimList
			err := s.client.List(ctx, &left, client.InNamespace(s.namespace))
			return len(left.Items) == 0, err
		})
	})
	t.Run("stay where the controller is gone and its finalizer is taken off", func(t *testing.T) {
		s := newScene(t, w, 1)
		claims := s.claims()
		s.traffic.Stop()
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.ClaimRetention = etcdv1beta2.DeleteClaims })
		s.until("it has the finalizer", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Finalizers) == 1 })
		stop()
		s.must(s.client.Delete(t.Context(), s.cluster()))
		if s.cluster().DeletionTimestamp == nil {
			t.Error("it is not being deleted")
		}
		w.run(t, "kubectl", "-n", s.namespace, "patch", "etcdcluster", name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		s.untilGone()
		s.collected(claims)
	})
}

// untilIdentified waits until the claims name the owners of their data.
func (s *scene) untilIdentified() {
	s.Helper()
	s.until("the claims say whose they are", func(*etcdv1beta2.EtcdCluster) bool {
		var all corev1.PersistentVolumeClaimList
		s.must(s.client.List(s.Context(), &all, client.InNamespace(s.namespace)))
		return !slices.ContainsFunc(all.Items, func(c corev1.PersistentVolumeClaim) bool { return c.Annotations["etcd.usher.dev/member"] == "" })
	})
}

// retained sets the decision about the claims of a former cluster.
func (s *scene) retained(answer string) {
	s.Helper()
	c := s.cluster()
	patch := client.MergeFrom(c.DeepCopy())
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationEtcdRetained, answer)
	s.must(s.client.Patch(s.Context(), c, patch))
}

func (s *scene) untilGone() {
	s.Helper()
	s.eventually("the cluster is gone", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &etcdv1beta2.EtcdCluster{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
