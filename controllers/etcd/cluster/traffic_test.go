package cluster_test

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/history"
	"github.com/usher-dev/usher/test/traffic"
)

// A load is the client traffic of the scene's cluster.
type load struct {
	*traffic.Traffic
	*scene
}

// write starts traffic, which the test ends with verify.
func (s *scene) write() load {
	s.Helper()
	l := load{traffic.Start(s.ctx, s.client), s}
	s.Cleanup(l.Stop)
	s.until("something was written", func(*etcdv1beta2.EtcdCluster) bool { return l.Writes() > 20 })
	return l
}

// client connects to the cluster through the current voters.
func (s *scene) client(ctx context.Context) (*clientv3.Client, error) {
	return s.clientAs(ctx, s.user, s.password)
}

// clientAs is client as a user of etcd.
func (s *scene) clientAs(ctx context.Context, user, password string) (*clientv3.Client, error) {
	var pods corev1.PodList
	if err := shared.client.List(ctx, &pods, ctrlclient.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	voters := map[string]string{}
	for _, p := range pods.Items {
		if p.Status.PodIP != "" && p.DeletionTimestamp == nil && p.Labels[wellknown.LabelEtcdVoter] == "true" {
			voters[p.Name+"."+s.name+"."+s.namespace+".svc"] = p.Status.PodIP
		}
	}
	return traffic.DialAs(ctx, user, password, s.secure, voters)
}

// verify ends the traffic and checks the recorded history.
func (l load) verify() {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), time.Minute)
	defer cancel()
	recorded, err := l.Finish(ctx, l.client)
	if err != nil {
		l.Fatal(err)
	}
	v := history.Check(recorded, history.Patience)
	l.Log(v)
	if len(v.Problems) > 0 {
		l.Error("the cluster lost something, or was not linearizable")
	}
}
