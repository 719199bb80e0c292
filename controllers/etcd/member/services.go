package member

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Services creates the headless Service, through which members find each
// other before they are ready, and the one for clients, which only leads to
// voters.
func (w Writer) Services(ctx context.Context, d *Desired) error {
	client := port("client", ClientPort)
	if err := w.ensureService(ctx, d, d.Cluster.Name, LabelsOf(d.Cluster.Name), func(s *corev1.ServiceSpec) {
		s.ClusterIP = corev1.ClusterIPNone
		s.PublishNotReadyAddresses = true
		s.Ports = []corev1.ServicePort{client, port("peer", PeerPort)}
	}); err != nil {
		return err
	}
	return w.ensureService(ctx, d, ClientService(d.Cluster.Name), VotersOf(d.Cluster.Name), func(s *corev1.ServiceSpec) {
		// A node port that others requested is kept.
		if len(s.Ports) != 1 || s.Ports[0].Port != client.Port || s.Ports[0].TargetPort != client.TargetPort {
			s.Ports = []corev1.ServicePort{client}
		}
	})
}

func (w Writer) ensureService(ctx context.Context, d *Desired, name string, selector labels.Set, set func(*corev1.ServiceSpec)) error {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: d.Cluster.Namespace, Name: name}}
	err := w.ensure(ctx, d, s, func() {
		s.Labels = labels.Merge(s.Labels, LabelsOf(d.Cluster.Name))
		s.Spec.Selector = selector
		d.families(&s.Spec)
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
