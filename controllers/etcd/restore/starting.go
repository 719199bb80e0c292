package restore

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// starting says why the restored member is not ready. etcd reports that it is ready
// by a read as its user root, and without the role root it never does: therefore a
// member that runs is asked.
func (c *Controller) starting(ctx context.Context, a *attempt, p *corev1.Pod) error {
	if why := observe.WhyNotRunning(p); why != "" {
		return wait(ReasonStarting, "the restored member %s is not ready: %s", p.Name, why)
	}
	runs := slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == member.ContainerName && s.State.Running != nil
	})
	if runs && p.Status.PodIP != "" {
		if _, err := c.observer.Restored(ctx, a.cluster, p); refusesCredentials(err) {
			return wait(ReasonCredentials, "%w", err)
		}
	}
	return wait(ReasonStarting, "waits for the restored member %s to be ready", p.Name)
}

func refusesCredentials(err error) bool {
	r := observe.AsRefusal(err)
	return r != nil && r.Credentials
}
