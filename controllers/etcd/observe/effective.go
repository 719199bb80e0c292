package observe

import (
	"encoding/json"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// Effective returns the manifest as far as the controller can connect to
// members with it: the encryption of their traffic cannot change, so a manifest
// that changes it gets the TLS settings that the members were created with. The
// plan handles every other refusal.
func (o *Objects) Effective() *etcdv1beta2.EtcdCluster {
	cluster := o.Cluster
	if raised := etcd.Raised(&cluster.Spec, &cluster.Status); raised != &cluster.Spec {
		cluster = cluster.DeepCopy()
		cluster.Spec = *raised
	}
	seen := plan.Observe(&cluster.Status)
	for _, refusal := range plan.Refusals(&cluster.Spec, &seen) {
		if refusal.Row == plan.RefuseTLSToggle {
			was := cluster.DeepCopy()
			was.Spec.TLS = o.recordedTLS()
			return was
		}
	}
	return cluster
}

// recordedTLS is the spec.TLS that members were created with.
func (o *Objects) recordedTLS() *etcdv1beta2.TLSPolicy {
	var records []string
	for _, p := range o.Pods {
		records = append(records, p.Annotations[wellknown.AnnotationEtcdTLS])
	}
	for _, claim := range o.Claims {
		records = append(records, claim.Annotations[wellknown.AnnotationEtcdTLS])
	}
	for _, record := range records {
		var policy etcdv1beta2.TLSPolicy
		if record != "" && json.Unmarshal([]byte(record), &policy) == nil {
			return &policy
		}
	}
	return nil
}
