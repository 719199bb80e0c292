//go:build e2e

package etcd_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/test/cluster/usher"
)

// controllerKilled kills the controller's pods.
func (s *scene) controllerKilled(string) broken {
	s.Helper()
	before := map[types.UID]bool{}
	for _, p := range s.controllers() {
		before[p.UID] = true
		s.must(client.IgnoreNotFound(shared.client.Delete(s.Context(), &p, client.GracePeriodSeconds(0))))
	}
	return broken{felt: func() bool {
		return slices.ContainsFunc(s.controllers(), func(p corev1.Pod) bool {
			return !before[p.UID] && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
		})
	}}
}

// controllers returns the controller's pods.
func (s *scene) controllers() []corev1.Pod {
	s.Helper()
	var all corev1.PodList
	s.must(shared.client.List(s.Context(), &all, client.InNamespace(usher.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "controller"}))
	return all.Items
}
