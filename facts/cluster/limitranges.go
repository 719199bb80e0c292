package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LimitRanges lists the LimitRanges of a namespace. If it cannot read them it
// returns none, because they only cause warnings, for which no request waits.
func LimitRanges(ctx context.Context, reader client.Reader, namespace string) []corev1.LimitRange {
	var list corev1.LimitRangeList
	if reader.List(ctx, &list, client.InNamespace(namespace)) != nil {
		return nil
	}
	return list.Items
}
