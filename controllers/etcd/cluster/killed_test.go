//go:build e2e

package cluster_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// killed is the panic value of a killed controller.
type killed struct{}

// A killer kills a controller before or after its first change.
type killer struct {
	before bool
	calls  *int
	// told are the steps that the status has announced: repeating an announcement
	// does not kill the controller, or none would live for as long as it has to
	// wait.
	told map[string]bool
}

func (k killer) around(change func() error) error {
	if k.before {
		panic(killed{})
	}
	*k.calls++
	_ = change()
	panic(killed{})
}

// dyingClient and dyingCaller kill the controller at changes.
type dyingClient struct {
	client.Client
	killer
}

func (c dyingClient) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return c.around(func() error { return c.Client.Create(ctx, o, options...) })
}

func (c dyingClient) Update(ctx context.Context, o client.Object, options ...client.UpdateOption) error {
	return c.around(func() error { return c.Client.Update(ctx, o, options...) })
}

func (c dyingClient) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.around(func() error { return c.Client.Patch(ctx, o, patch, options...) })
}

func (c dyingClient) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return c.around(func() error { return c.Client.Delete(ctx, o, options...) })
}

func (c dyingClient) Status() client.SubResourceWriter {
	return dyingStatus{c.Client.Status(), c.killer}
}

type dyingStatus struct {
	client.SubResourceWriter
	killer
}

func (s dyingStatus) Update(ctx context.Context, o client.Object, options ...client.SubResourceUpdateOption) error {
	step := o.(*etcdv1beta2.EtcdCluster).Status.Step
	if s.told[step] {
		return s.SubResourceWriter.Update(ctx, o, options...)
	}
	return s.around(func() error {
		s.told[step] = true
		return s.SubResourceWriter.Update(ctx, o, options...)
	})
}

type dyingCaller struct {
	observe.EtcdClient
	killer
}

func (c dyingCaller) AddLearner(ctx context.Context, peerURL string) error {
	return c.around(func() error { return c.EtcdClient.AddLearner(ctx, peerURL) })
}

func (c dyingCaller) Promote(ctx context.Context, id uint64) error {
	return c.around(func() error { return c.EtcdClient.Promote(ctx, id) })
}

func (c dyingCaller) Remove(ctx context.Context, id uint64) error {
	return c.around(func() error { return c.EtcdClient.Remove(ctx, id) })
}

func (c dyingCaller) MoveLeader(ctx context.Context, clientURL string, to uint64) error {
	return c.around(func() error { return c.EtcdClient.MoveLeader(ctx, clientURL, to) })
}

// dying runs one controller after the other, each killed before or after its
// first change, until the condition is true. The in-memory state of a
// controller is lost with it.
func (s *scene) dying(m manager.Manager, holds func(*etcdv1beta2.EtcdCluster) bool) {
	s.Helper()
	calls, before, told := 0, false, map[string]bool{}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: s.namespace, Name: s.name}}
	next := func() *etcdcluster.Controller {
		before = !before
		k := killer{before: before, calls: &calls, told: told}
		o := etcdcluster.Options{Settling: 6 * time.Second}
		c := etcdcluster.New(m, etcdcluster.NewObserver(m, o), o)
		c.Wrap(func(c client.Client) client.Client { return dyingClient{c, k} },
			func(c observe.EtcdClient) observe.EtcdClient { return dyingCaller{c, k} })
		return c
	}
	c := next()
	look := func() {
		defer func() {
			if r := recover(); r != nil {
				if r != (killed{}) {
					panic(r)
				}
				c = next()
			}
		}()
		if _, err := c.Reconcile(s.ctx, request); err != nil {
			s.Log(err)
		}
	}
	err := wait.PollUntilContextTimeout(s.ctx, 20*time.Millisecond, 4*time.Minute, true, func(context.Context) (bool, error) {
		look()
		return holds(s.cluster()), nil
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("after %d changes, with a controller killed before and after each", calls)
}

// converging are the clusters whose controllers are killed.
var converging = map[string]etcdv1beta2.ClusterSpec{"without claims": ofSize(1), "with claims": onClaims(1)}

func TestAControllerKilledAroundEveryChangeConverges(t *testing.T) {
	t.Parallel()
	for name, spec := range converging {
		t.Run(name, func(t *testing.T) {
			s := emptyScene(t)
			m, err := manager.New(shared.plane.Config, manager.Options{
				Scheme: testScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: ptr.To(true)},
			})
			s.must(err)
			s.create(spec)
			s.dying(m, func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, 1, v36) })
			w := s.write()
			s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 3 })
			s.dying(m, func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, 3, v36) })
			first := s.names()[0]
			s.must(shared.kubelet.Wipe(s.namespace, first))
			s.dying(m, func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, 3, v36) && !contains(s.names(), first) })
			for _, version := range []string{v37, v36} {
				s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = version })
				s.dying(m, func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, 3, version) })
			}
			s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 1 })
			s.dying(m, func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, 1, v36) && len(s.pods()) == 1 })
			w.verify()
		})
	}
}
