package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/controllers/etcd/plan"
)

// receivedBytes is etcd's metric of what a member received from a peer. The
// metric of active peers counts those twice that existed when the member
// joined, and never drops to zero for them.
const receivedBytes = "etcd_network_peer_received_bytes_total"

// peerTimeout limits reading a member's metrics.
const peerTimeout = 3 * time.Second

// askPeers reads from the members that answer from whom they have received
// anything since the previous observation, if one does not answer: the
// controller's network is not the members'. Without that information it draws
// no conclusions.
func (c *Controller) askPeers(ctx context.Context, cluster types.NamespacedName, s *observed, found map[string]*plan.Member) {
	silent := false
	for _, m := range found {
		silent = silent || m.Listed && !m.Answers && m.Started
	}
	if !silent {
		return
	}
	var mu sync.Mutex
	received := map[string]float64{}
	var all sync.WaitGroup
	for name, m := range found {
		p := s.pods[name]
		if !m.Listed || !m.Answers || p == nil || p.Status.PodIP == "" {
			continue
		}
		all.Go(func() {
			from, err := receivedFrom(ctx, p.Status.PodIP)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for id, bytes := range from {
				received[name+" "+id] = bytes
			}
		})
	}
	all.Wait()
	before := c.memories.received(cluster, received)
	for name, m := range found {
		for other := range found {
			key := other + " " + hex(s.details[name].id)
			was, known := before[key]
			m.PeersReach = m.PeersReach || !m.Answers && known && received[key] > was
		}
	}
}

// receivedFrom returns how many bytes a member has received from each other
// one, by their IDs in hexadecimal.
func receivedFrom(ctx context.Context, address string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, strconv.Itoa(metricsPort))+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading a member's metrics: %w", err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(http.MaxBytesReader(nil, response.Body, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("reading a member's metrics: %w", err)
	}
	from := map[string]float64{}
	for _, metric := range families[receivedBytes].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "From" {
				from[label.GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	return from, nil
}
