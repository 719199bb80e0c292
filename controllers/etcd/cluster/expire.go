package cluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// expireEvery is the longest time between two looks at the claims of a deleted
// cluster: nothing reports the end of an EtcdRestore that keeps one.
const expireEvery = 15 * time.Minute

// expire deletes the claims that a deleted cluster has set aside, each on its
// date. While a cluster of the name exists, its plan does that.
func (c *Controller) expire(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	gone := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	objects, err := c.observer.List(ctx, gone)
	if err != nil {
		return reconcile.Result{}, err
	}
	left, next := 0, expireEvery
	for _, claim := range objects.Aside {
		a, _ := member.AsideOf(claim)
		if wait := time.Until(a.Until.Time); objects.Restores[a.Restore] || wait > 0 {
			left++
			if wait > 0 {
				next = min(next, wait)
			}
			continue
		}
		if err := c.writer().Delete(ctx, claim, "the claim "+claim.Name); err != nil {
			return reconcile.Result{}, err
		}
		c.events.Eventf(claim, nil, corev1.EventTypeNormal, "ClaimDeleted", "Delete", "the deleted EtcdCluster %s had set it aside until %s", key.Name, a.Until.UTC().Format("2006-01-02 15:04:05"))
	}
	c.metrics.left(key, left)
	if left == 0 {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: next}, nil
}
