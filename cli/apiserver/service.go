package apiserver

import (
	"context"
	"fmt"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	servicestorage "k8s.io/kubernetes/pkg/registry/core/service/storage"
)

// serviceStorage is the server's own storage of Services, without a backend. It
// allocates addresses and ports for a Service before validation.
func serviceStorage() (*servicestorage.REST, error) {
	nowhere := generic.RESTOptions{
		ResourcePrefix: "services",
		StorageConfig:  &storagebackend.ConfigForResource{},
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return nil, func() {}, nil
		},
	}
	addresses := map[core.IPFamily]ipallocator.Interface{
		core.IPv4Protocol: anyAddress{core.IPv4Protocol, net.IPv4(10, 96, 0, 1)},
		core.IPv6Protocol: anyAddress{core.IPv6Protocol, net.ParseIP("fd00::1")},
	}
	rest, _, _, err := servicestorage.NewREST(nowhere, core.IPv4Protocol, addresses, defaultPorts{}, nil, nil, nil)
	return rest, err
}

// A begin is what a storage does to an object before its strategy sees it; old
// is nil on creation.
type begin func(ctx context.Context, object, old runtime.Object) error

// beginService allocates a Service's addresses and ports, and releases them.
func beginService() begin {
	storage, err := serviceStorage()
	return func(ctx context.Context, object, old runtime.Object) error {
		if err != nil {
			return fmt.Errorf("making the storage of Services: %w", err)
		}
		if old == nil {
			_, err := storage.BeginCreate(ctx, object, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
		_, err := storage.BeginUpdate(ctx, object, old, &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

// anyAddress contains every address: only a cluster knows its own ranges.
type anyAddress struct {
	family core.IPFamily
	next   net.IP
}

func (a anyAddress) Allocate(net.IP) error         { return nil }
func (a anyAddress) AllocateNext() (net.IP, error) { return a.next, nil }
func (a anyAddress) Release(net.IP) error          { return nil }
func (a anyAddress) ForEach(func(net.IP))          {}
func (a anyAddress) CIDR() net.IPNet               { return net.IPNet{} }
func (a anyAddress) IPFamily() core.IPFamily       { return a.family }
func (a anyAddress) Has(net.IP) bool               { return false }
func (a anyAddress) Destroy()                      {}
func (a anyAddress) EnableMetrics()                {}
func (a anyAddress) DryRun() ipallocator.Interface { return a }

// nodePorts is the default of --service-node-port-range.
var nodePorts = utilnet.PortRange{Base: 30000, Size: 2768}

// defaultPorts are the default node ports for Services, all of them free.
type defaultPorts struct{}

func (defaultPorts) Allocate(port int) error {
	if r := nodePorts; !r.Contains(port) {
		return &portallocator.ErrNotInRange{ValidPorts: r.String()}
	}
	return nil
}
func (defaultPorts) AllocateNext() (int, error) { return nodePorts.Base, nil }
func (defaultPorts) Release(int) error          { return nil }
func (defaultPorts) ForEach(func(int))          {}
func (defaultPorts) Has(int) bool               { return false }
func (defaultPorts) Destroy()                   {}
func (defaultPorts) EnableMetrics()             {}
