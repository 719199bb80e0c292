package cluster

import (
	"encoding/json"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd/plan"
)

// effective returns the manifest as far as the controller can connect to
// members with it: the encryption of their traffic cannot change, so a manifest
// that changes it gets the TLS settings that the members were created with. The
// plan handles every other refusal.
func effective(cluster *etcdv1beta2.EtcdCluster, s *observed) *etcdv1beta2.EtcdCluster {
	seen := plan.Observe(&cluster.Status)
	for _, refusal := range plan.Refusals(&cluster.Spec, &seen) {
		if refusal.Row == plan.RefuseTLSToggle {
			was := cluster.DeepCopy()
			was.Spec.TLS = s.recordedTLS()
			return was
		}
	}
	return cluster
}

// recordedTLS is the spec.TLS that members were created with.
func (s *observed) recordedTLS() *etcdv1beta2.TLSPolicy {
	var records []string
	for _, p := range s.pods {
		records = append(records, p.Annotations[wellknown.AnnotationEtcdTLS])
	}
	for _, claim := range s.claims {
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
