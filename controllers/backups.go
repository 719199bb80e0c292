package controllers

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/controllers/etcd/backup/volume"
	"github.com/usher-dev/usher/controllers/podserver"
)

// backups is shared by the controllers of backups and restores: the server for
// the pods that they start, and the mounted volumes.
type backups struct {
	server  *podserver.Server
	volumes *volume.Mounts
}

func serveBackups(m manager.Manager, o Options) (*backups, error) {
	o.PodServer.Namespace = o.Namespace
	server, err := podserver.New(o.PodServer, m.GetClient(), m.GetAPIReader(), m.GetLogger())
	if err != nil {
		return nil, err
	}
	return &backups{server, volume.New(m.GetClient(), m.GetAPIReader(), server, m.GetLogger())}, m.Add(server)
}
