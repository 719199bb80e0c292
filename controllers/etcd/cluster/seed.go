package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// Connect connects to the member in a pod like the controller.
func Connect(ctx context.Context, reader client.Reader, c *etcdv1beta2.EtcdCluster, p *corev1.Pod) (*clientv3.Client, error) {
	d := member.Desire(c)
	if err := d.TLS.Read(ctx, reader, c.Namespace); err != nil {
		return nil, err
	}
	var secure *tls.Config
	if d.Addresses.ClientTLS {
		secure = d.TLS.Client
	}
	if p.Status.PodIP == "" {
		return nil, fmt.Errorf("the pod %s has no address yet", p.Name)
	}
	port := strconv.Itoa(member.ClientPort)
	made, err := connect(ctx, []endpoint{{
		member: p.Name, url: d.Addresses.ClientURL(p.Name),
		host: net.JoinHostPort(d.Addresses.Host(p.Name), port), address: net.JoinHostPort(p.Status.PodIP, port),
	}}, secure)
	if err != nil {
		return nil, err
	}
	return made.(*connection).Client, nil
}

// leave does not change a cluster that an EtcdRestore has reserved: it only
// creates what the members need, and sets the status.
func (c *Controller) leave(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, restore string) (ctrl.Result, error) {
	was := cluster.Status.DeepCopy()
	if err := c.prepare(ctx, member.Desire(cluster)); err != nil {
		return ctrl.Result{}, err
	}
	// The previous release reads from the sentence what this one reads from
	// HeldBy.
	cluster.Status.ControlPaused, cluster.Status.HeldBy, cluster.Status.Step = true, restore, "waits for EtcdRestore "+restore
	if was.ControlPaused && was.HeldBy == restore && was.Step == cluster.Status.Step {
		return ctrl.Result{}, nil // the removal of the annotation triggers it
	}
	return ctrl.Result{}, c.writeStatus(ctx, cluster)
}

// Trouble returns why a seed's pod does not run; "" if it has no problem.
func Trouble(p *corev1.Pod) string {
	for _, s := range p.Status.InitContainerStatuses {
		ended := s.LastTerminationState.Terminated
		if s.State.Terminated != nil {
			ended = s.State.Terminated
		}
		switch {
		case s.State.Waiting != nil && strings.Contains(s.State.Waiting.Reason, "Image"):
			return "its container " + s.Name + " waits: " + s.State.Waiting.Reason + " " + s.State.Waiting.Message
		case !s.Ready && ended != nil && ended.ExitCode != 0:
			return "its container " + s.Name + " ended: " + lastLine(ended.Message)
		}
	}
	_, message := trouble(p)
	return message
}
