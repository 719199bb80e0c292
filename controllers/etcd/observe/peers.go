package observe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// receivedBytes is etcd's metric of what a member received from a peer. The
// metric of active peers counts those twice that existed when the member
// joined, and never drops to zero for them.
const receivedBytes = "etcd_network_peer_received_bytes_total"

// peerTimeout limits reading a member's metrics.
const peerTimeout = 3 * time.Second

// metricsClient connects only to the addresses of pods: a member's image is the
// user's choice, and its redirects lead elsewhere.
var metricsClient = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// askPeers reads from every member from whom it has received anything lately,
// if one does not answer: the controller's network is not the members', and a
// member that refuses the controller's client still serves its metrics. Without
// that information it draws no conclusions.
func (o *Observer) askPeers(ctx context.Context, seen *Observed) map[Link]Reception {
	silent := slices.ContainsFunc(seen.Members, func(m plan.Member) bool { return m.Listed && !m.Answers && m.Started })
	if !silent {
		return nil
	}
	var mu sync.Mutex
	bytes := map[Link]float64{}
	var all sync.WaitGroup
	for _, m := range seen.Members {
		p := seen.Pods[m.Name]
		if !m.Listed || m.Stranger || p == nil || p.Status.PodIP == "" || finished(p) {
			continue
		}
		all.Go(func() {
			from, err := receivedFrom(ctx, p.Status.PodIP)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for id, n := range from {
				bytes[Link{m.Name, id}] = n
			}
		})
	}
	all.Wait()
	return o.history.Received(client.ObjectKeyFromObject(seen.Cluster), bytes, time.Now())
}

// receivedFrom returns how many bytes a member has received from each other
// one, by their IDs in hexadecimal.
func receivedFrom(ctx context.Context, address string) (map[string]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	var families map[string]*dto.MetricFamily
	err := get(ctx, address, "/metrics", func(body io.Reader) (err error) {
		families, err = parser.TextToMetricFamilies(body)
		return err
	})
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

// get reads what a member serves next to its metrics.
func get(ctx context.Context, address, path string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, strconv.Itoa(member.MetricsPort))+path, nil)
	if err != nil {
		return err
	}
	response, err := metricsClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return read(http.MaxBytesReader(nil, response.Body, 4<<20))
}
