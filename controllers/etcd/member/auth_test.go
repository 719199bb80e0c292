package member_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// TestPod_WithAuthentication_IsTheSame: a member restarts if its pod changes.
func TestPod_WithAuthentication_IsTheSame(t *testing.T) {
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "example"}}
	c.Spec.Size, c.Spec.Version = 3, "3.6.16"
	made := func() any {
		d := member.Desire(c)
		return d.Pod("example-a", "3.6.16", member.Pinned(d.Addresses, "example-a"), d.Storage())
	}
	without := made()
	for _, enabled := range []bool{true, false} {
		c.Spec.Auth = &etcdv1beta2.AuthPolicy{Enabled: enabled, RootSecret: "root"}
		if diff := cmp.Diff(without, made()); diff != "" {
			t.Errorf("authentication changes the pod (-without +with):\n%s", diff)
		}
	}
}
