package etcdcluster_test

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcdcluster"
	"github.com/usher-dev/usher/test/writer"
)

// A load is a writer at the scene's cluster.
type load struct {
	*writer.Writer
	*scene
}

// write starts a writer, which the test ends with verify.
func (s *scene) write() load {
	s.Helper()
	l := load{writer.Start(s.ctx, s.client), s}
	s.Cleanup(l.Stop)
	s.until("something was written", func(*etcdv1beta2.EtcdCluster) bool { return l.Puts() > 20 })
	return l
}

// client is one of the cluster, through the voters that there are now.
func (s *scene) client(ctx context.Context) (*clientv3.Client, error) {
	var pods corev1.PodList
	if err := shared.client.List(ctx, &pods, ctrlclient.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	voters := map[string]string{}
	for _, p := range pods.Items {
		if p.Status.PodIP != "" && p.Labels[etcdcluster.LabelVoter] == "true" {
			voters[p.Name+"."+s.name+"."+s.namespace+".svc"] = p.Status.PodIP
		}
	}
	return writer.Client(ctx, s.secure, voters)
}

// verify ends the writer and looks for every acknowledged put.
func (l load) verify() {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 10*time.Second)
	defer cancel()
	report, err := l.Verify(ctx)
	if err != nil {
		l.Fatal(err)
	}
	l.Log(report)
	if report.Lost > 0 || report.Puts == 0 {
		l.Error("acknowledged puts are lost")
	}
}
