package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// A Switchover is the content of wellknown.AnnotationEtcdSwitchover. The restore writes and
// removes it, and the cluster's controller sets Begun before its first step; both
// only if the cluster is as they read it. So either the restore withdraws, and no
// step follows, or the controller has begun, and the restore does not withdraw.
type Switchover struct {
	// Member is the name of the restored member.
	Member string `json:"member"`
	// Begun: the cluster's controller may have changed something.
	Begun bool `json:"begun,omitempty"`
}

// SwitchoverOf parses the annotation; it returns the zero value without a valid
// one.
func SwitchoverOf(c *etcdv1beta2.EtcdCluster) Switchover {
	var s Switchover
	if json.Unmarshal([]byte(c.Annotations[wellknown.AnnotationEtcdSwitchover]), &s) != nil {
		return Switchover{}
	}
	return s
}

// WriteSwitchover writes the annotation, or removes it for the zero value, unless
// anything about the cluster has changed since it was read.
func (w Writer) WriteSwitchover(ctx context.Context, c *etcdv1beta2.EtcdCluster, s Switchover) error {
	was := c.DeepCopy()
	delete(c.Annotations, wellknown.AnnotationEtcdSwitchover)
	if s != (Switchover{}) {
		text, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("recording the switchover of %s: %w", c.Name, err)
		}
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationEtcdSwitchover, string(text))
	}
	if err := w.Client.Patch(ctx, c, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("recording the switchover of %s: %w", c.Name, err)
	}
	return nil
}

// SeedName returns the name of the member that an EtcdRestore restores: it is
// stable, and unique to the restore.
func SeedName(r *etcdv1beta2.EtcdRestore) string {
	sum := sha256.Sum256([]byte(r.UID))
	return r.Spec.EtcdCluster.Name + "-" + hex.EncodeToString(sum[:5])
}
