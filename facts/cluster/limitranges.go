package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LimitRanges lists those of a namespace. Where they cannot be read there are none:
// what is predicted by them is a warning, which nobody waits for.
func LimitRanges(ctx context.Context, reader client.Reader, namespace string) []corev1.LimitRange {
	var list corev1.LimitRangeList
	if reader.List(ctx, &list, client.InNamespace(namespace)) != nil {
		return nil
	}
	return list.Items
}
