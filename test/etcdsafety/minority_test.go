//go:build e2e || soak

package etcdsafety_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// TestAClusterOfWhichAMinorityLives_IsRestored deletes a majority of members
// along with their data. The rest still answers, or refuses the controller, and
// does not keep a restore from replacing the cluster.
func TestAClusterOfWhichAMinorityLives_IsRestored(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		size, living         int
		authenticated, alone bool
	}{
		{size: 3, living: 1}, {size: 3, living: 1, authenticated: true}, {size: 5, living: 2}, {size: 5, living: 2, authenticated: true},
		{size: 3, living: 1, alone: true}, {size: 3, living: 1, alone: true, authenticated: true},
	} {
		by := map[bool]string{false: "by an EtcdRestore without the annotation", true: "by itself"}[tc.alone]
		t.Run(fmt.Sprintf("%d of %d live, authentication %t, %s", tc.living, tc.size, tc.authenticated, by), func(t *testing.T) {
			t.Parallel()
			s := emptyScene(t, shared)
			c := s.clusterOf(tc.size)
			c.Spec.Pod = nil // the data goes with the pods
			if tc.alone {
				c.Annotations = map[string]string{wellknown.AnnotationEtcdAutoRestore: "true"}
			}
			s.must(s.client.Create(t.Context(), c))
			s.settled(tc.size)
			etcd, err := s.connect(t.Context())
			s.must(err)
			_, err = etcd.Put(t.Context(), "key", "value")
			s.must(err)
			s.must(etcd.Close())
			store := s.store()
			backup := s.backUp(store)
			if tc.authenticated {
				s.authenticate()
			}
			before := s.cluster().Status.ClusterID
			for _, m := range s.members()[tc.living:] {
				s.must(s.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: m}}))
			}
			if !tc.alone {
				s.until("the loss is said", func(c *etcdv1beta2.EtcdCluster) bool {
					return says(c, etcdv1beta2.ClusterQuorumLost) == corev1.ConditionTrue
				})
				s.must(s.client.Create(t.Context(), s.restoreOf(store, "back", backup.Status.Path)))
			}
			s.eventually("a restore has succeeded", func(ctx context.Context) (bool, error) {
				var all etcdv1beta2.EtcdRestoreList
				if err := s.client.List(ctx, &all, client.InNamespace(s.namespace)); err != nil {
					return false, err
				}
				return len(all.Items) == 1 && all.Items[0].Status.Succeeded, nil
			})
			s.password.Store(nil) // of the former cluster
			s.settled(tc.size)
			if s.cluster().Status.ClusterID == before {
				t.Error("it is the former cluster")
			}
			etcd, err = s.connect(t.Context())
			s.must(err)
			defer func() { _ = etcd.Close() }()
			if got, err := etcd.Get(t.Context(), "key"); err != nil || got.Count != 1 {
				t.Errorf("the key is not there: %v, %v", got, err)
			}
		})
	}
}
