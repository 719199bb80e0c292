package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Native sidecars (KEP-753) are on by default since 1.29. An API server 1.32
// supports kubelets from 1.29 on.
var (
	sidecarServer  = version.MajorMinor(1, 32)
	sidecarKubelet = version.MajorMinor(1, 29)
)

// Sidecars knows whether the cluster supports native sidecars.
type Sidecars struct {
	Discovery discovery.ServerVersionInterface
	Reader    client.Reader // must not be a cache
	Interval  time.Duration
	Metrics   *Metrics // nil if nothing is measured
	Log       logr.Logger
	// Changed is called when an answer has changed; nil if nobody needs to know.
	Changed func()

	available atomic.Bool
	server    atomic.Pointer[version.Version]
}

// Server is the API server's version, nil until Update has read it.
func (s *Sidecars) Server() *version.Version { return s.server.Load() }

// Available is false until Update has determined otherwise.
func (s *Sidecars) Available() bool { return s.available.Load() }

// Start updates periodically, because clusters are upgraded.
func (s *Sidecars) Start(ctx context.Context) error {
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.Update(ctx); err != nil {
				s.Log.Error(err, "cannot determine whether the cluster supports native sidecars")
			}
		}
	}
}

// Update reads the server's version and, if that is not sufficient, the oldest
// kubelet's.
func (s *Sidecars) Update(ctx context.Context) error {
	info, err := s.Discovery.ServerVersion()
	if err != nil {
		return err
	}
	server, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return err
	}
	before := s.server.Swap(server)
	newServer := before == nil || before.String() != server.String()
	if newServer {
		s.Metrics.server(server)
		s.Log.Info("Kubernetes", "version", info.GitVersion, "newestTested", newest())
	}
	available := server.AtLeast(sidecarServer)
	if !available {
		if available, err = s.kubelets(ctx); err != nil {
			s.changed(newServer)
			return err
		}
	}
	newAnswer := s.available.Swap(available) != available
	if newAnswer {
		s.Log.Info("native sidecars", "available", available, "server", info.GitVersion)
	}
	s.changed(newServer || newAnswer)
	return nil
}

func (s *Sidecars) changed(is bool) {
	if is && s.Changed != nil {
		s.Changed()
	}
}

// kubelets reports whether every kubelet supports native sidecars. A cluster
// without nodes runs nothing, so the question can be asked again later.
func (s *Sidecars) kubelets(ctx context.Context) (bool, error) {
	const page = 100
	var nodes corev1.NodeList
	seen := false
	for {
		if err := s.Reader.List(ctx, &nodes, client.Limit(page), client.Continue(nodes.Continue)); err != nil {
			return false, err
		}
		for i := range nodes.Items {
			seen = true
			kubelet, err := version.ParseGeneric(nodes.Items[i].Status.NodeInfo.KubeletVersion)
			if err != nil || kubelet.LessThan(sidecarKubelet) {
				return false, nil
			}
		}
		if nodes.Continue == "" {
			return seen, nil
		}
	}
}
