package cluster

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
)

// keepClaims migrates the members' claims to this release: those of the
// previous one are deleted with their cluster.
func (c *Controller) keepClaims(ctx context.Context, d *member.Desired, s *observe.Observed) error {
	var namespace types.UID
	for i := range s.Members {
		claim := s.Claims[s.Members[i].Name]
		if claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		kept := slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Namespace" })
		changed := claim.DeepCopy()
		if of := s.Details[claim.Name]; s.Members[i].Listed && s.Members[i].Answers && s.Formed && of.ID != 0 {
			text, err := json.Marshal(member.Identity{
				ClusterID: d.Cluster.Status.ClusterID, ID: observe.Hex(of.ID), Version: s.Members[i].Version.String(), TLS: etcd.Encrypted(&d.Cluster.Spec),
			})
			if err != nil {
				return err
			}
			metav1.SetMetaDataAnnotation(&changed.ObjectMeta, wellknown.AnnotationEtcdMember, string(text))
		}
		if kept && equality.Semantic.DeepEqual(claim.Annotations, changed.Annotations) {
			continue
		}
		if !kept {
			if namespace == "" {
				var err error
				if namespace, err = member.NamespaceUID(ctx, c.observer.Reader, claim.Namespace); err != nil {
					return err
				}
			}
			changed.OwnerReferences = append(changed.OwnerReferences, member.KeptBy(claim.Namespace, namespace)...)
		}
		if err := c.writer().PatchClaim(ctx, claim, changed); err != nil {
			return err
		}
		s.Claims[claim.Name] = changed
	}
	return nil
}
