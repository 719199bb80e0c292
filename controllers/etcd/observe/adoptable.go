package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
)

// An Adoptable is what a cluster can be formed from.
type Adoptable struct {
	// ClusterID is etcd's ID of the cluster.
	ClusterID string
	// Claims are the members' claims, Members says whose data they have.
	Claims  []*corev1.PersistentVolumeClaim
	Members map[string]member.Identity
}

// Adoptable returns what a former cluster of the name has left, or in an error
// what keeps the cluster from being formed from it.
func (o *Objects) Adoptable() (*Adoptable, error) {
	a := &Adoptable{Claims: slices.Clone(o.Former), Members: map[string]member.Identity{}}
	for _, name := range slices.Sorted(maps.Keys(o.Claims)) {
		a.Claims = append(a.Claims, o.Claims[name]) // by an earlier attempt
	}
	for _, claim := range a.Claims {
		var of member.Identity
		if json.Unmarshal([]byte(claim.Annotations[wellknown.AnnotationEtcdMember]), &of) != nil || of.ID == "" {
			return nil, fmt.Errorf("the claim %s does not name in the annotation %s the member whose data it has: a member writes it once it answers, so a claim of a member that never did is empty: "+
				"delete the claim, or remove its label %s to keep it; if no claim has the annotation, restore a backup", claim.Name, wellknown.AnnotationEtcdMember, wellknown.LabelEtcdCluster)
		}
		if a.ClusterID != "" && of.ClusterID != a.ClusterID {
			return nil, fmt.Errorf("the claim %s belongs to the etcd cluster %s, and another claim to %s: delete the claims to leave out, or remove their label %s",
				claim.Name, of.ClusterID, a.ClusterID, wellknown.LabelEtcdCluster)
		}
		if is := etcd.Encrypted(&o.Cluster.Spec); of.TLS != is {
			return nil, fmt.Errorf("the member of the claim %s encrypted %q, and spec.TLS asks for %q: write the former spec.TLS", claim.Name, of.TLS, is)
		}
		a.ClusterID, a.Members[claim.Name] = of.ClusterID, of
	}
	for _, name := range slices.Sorted(maps.Keys(o.Orphans)) {
		if _, ok := a.Members[name]; !ok {
			return nil, fmt.Errorf("the pod %s of a former cluster of this name runs, and no claim has its data: delete the pod", name)
		}
	}
	return a, nil
}
