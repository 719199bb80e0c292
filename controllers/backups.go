package controllers

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/volume"
	"github.com/usher-dev/usher/controllers/etcd/reach"
	"github.com/usher-dev/usher/controllers/transfer"
)

// backups is shared by the controllers of backups and restores: the server for
// the pods that they start, and the places of backups.
type backups struct {
	server *transfer.Server
	places *etcdbackup.Places
}

func serveBackups(m manager.Manager, o Options) (*backups, error) {
	o.PodServer.Namespace = o.Namespace
	server, err := transfer.New(o.PodServer, m.GetClient(), m.GetAPIReader(), m.GetLogger())
	if err != nil {
		return nil, err
	}
	stores, err := o.stores(m)
	if err != nil {
		return nil, err
	}
	places := &etcdbackup.Places{
		Reader: m.GetAPIReader(), Volumes: volume.New(m.GetClient(), m.GetAPIReader(), server, m.GetLogger()), Stores: stores,
	}
	return &backups{server, places}, m.Add(server)
}

// stores returns which stores the controllers may use.
func (o Options) stores(m manager.Manager) (*reach.Stores, error) {
	allowed, err := reach.ParseDestinations(o.StoreEndpoints)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reach.Flag, err)
	}
	s := &reach.Stores{Reader: m.GetAPIReader(), Allowed: allowed, APIServers: []string{os.Getenv("KUBERNETES_SERVICE_HOST")}}
	if u, err := url.Parse(m.GetConfig().Host); err == nil {
		s.APIServers = append(s.APIServers, u.Hostname())
	}
	s.APIServers = slices.DeleteFunc(s.APIServers, func(host string) bool { return host == "" })
	if o.StoreProxy {
		s.Proxy = http.ProxyFromEnvironment
	}
	return s, nil
}
