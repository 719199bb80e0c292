package cluster

import (
	"encoding/json"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/plan"
)

// effective is the manifest as far as members can be reached by it: whether
// their traffic is encrypted cannot be changed, so that a manifest that does is
// read with what the members were made from. All else that is refused, the plan
// leaves alone.
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

// recordedTLS is spec.TLS as members were made from it.
func (s *observed) recordedTLS() *etcdv1beta2.TLSPolicy {
	var records []string
	for _, p := range s.pods {
		records = append(records, p.Annotations[AnnotationTLS])
	}
	for _, claim := range s.claims {
		records = append(records, claim.Annotations[AnnotationTLS])
	}
	for _, record := range records {
		var policy etcdv1beta2.TLSPolicy
		if record != "" && json.Unmarshal([]byte(record), &policy) == nil {
			return &policy
		}
	}
	return nil
}

// recordOf is what recordedTLS reads.
func recordOf(policy *etcdv1beta2.TLSPolicy) string {
	if policy == nil {
		return ""
	}
	data, err := json.Marshal(policy)
	if err != nil {
		return "" // API types are always JSON
	}
	return string(data)
}
