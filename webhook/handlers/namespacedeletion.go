package handlers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/webhook/review"
)

// claimsListed is the maximum number of claims of one sort to list.
const claimsListed = 500

// deleted warns about claims with the data of etcd clusters, which outlive
// their cluster and usher, but not their namespace. It only counts them, because any
// client that reaches the port can ask.
func (n *NamespaceLabels) deleted(ctx context.Context, namespace string) (*review.Response, error) {
	res := &review.Response{Allowed: true, Reason: string(reason.PolicyClean)}
	claims, clusters := 0, map[string]bool{}
	for _, label := range []string{wellknown.LabelEtcdCluster, wellknown.LabelEtcdSetAside} {
		found := &metav1.PartialObjectMetadataList{}
		found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"))
		if err := n.Facts.Reader.List(ctx, found, client.InNamespace(namespace), client.HasLabels{label}, client.Limit(claimsListed)); err != nil {
			return nil, fmt.Errorf("listing the claims of the namespace %s: %w", namespace, err)
		}
		claims += len(found.Items)
		for i := range found.Items {
			clusters[found.Items[i].Labels[label]] = true
		}
	}
	if claims > 0 {
		res.Reason = string(reason.PolicyWarned)
		res.Warnings = []string{fmt.Sprintf("%d claim(s) with the data of %d etcd cluster(s) are deleted with the namespace, along with each volume whose persistentVolumeReclaimPolicy is Delete; to keep one, run: "+
			`kubectl patch pv VOLUME -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'`, claims, len(clusters))}
	}
	res.Audit = map[string]string{"reason": res.Reason}
	return res, nil
}
