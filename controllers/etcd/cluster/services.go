package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ensureServices creates the headless Service, through which members find each
// other before they are ready, and the one for clients, which only leads to
// voters.
func (c *Controller) ensureServices(ctx context.Context, d *desired) error {
	client := port("client", clientPort)
	if err := c.ensureService(ctx, d, d.cluster.Name, labelsOf(d.cluster.Name), func(s *corev1.ServiceSpec) {
		s.ClusterIP = corev1.ClusterIPNone
		s.PublishNotReadyAddresses = true
		s.Ports = []corev1.ServicePort{client, port("peer", peerPort)}
	}); err != nil {
		return err
	}
	return c.ensureService(ctx, d, clientService(d.cluster.Name), votersOf(d.cluster.Name), func(s *corev1.ServiceSpec) {
		// A node port that others requested is kept.
		if len(s.Ports) != 1 || s.Ports[0].Port != client.Port || s.Ports[0].TargetPort != client.TargetPort {
			s.Ports = []corev1.ServicePort{client}
		}
	})
}

func (c *Controller) ensureService(ctx context.Context, d *desired, name string, selector labels.Set, set func(*corev1.ServiceSpec)) error {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: d.cluster.Namespace, Name: name}}
	err := c.ensure(ctx, d, s, func() {
		s.Labels = labels.Merge(s.Labels, labelsOf(d.cluster.Name))
		s.Spec.Selector = selector
		set(&s.Spec)
	})
	if err != nil {
		return fmt.Errorf("creating the Service %s: %w", name, err)
	}
	return nil
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromInt32(number), Protocol: corev1.ProtocolTCP}
}
