package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/usher-dev/usher/test/load"
)

// client speaks HTTP/1.1 over TLS with keep-alive, as kube-apiserver does to a
// Service.
func client() *http.Client {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // whose certificate it is does not matter here
		Protocols:       protocols, MaxIdleConns: 512, MaxIdleConnsPerHost: 512,
	}}
}

// post sends a review and reads the response, which must be a review.
func post(c *http.Client, url string, body []byte) error {
	res, err := c.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"allowed":true`)) {
		return fmt.Errorf("%s answered %d: %.200s", url, res.StatusCode, answer)
	}
	return nil
}

// A sample is one round of load on one server.
type sample struct {
	rate     float64
	p50, p99 time.Duration
	// cpu is the server's own processor time for a request, of which the round had
	// calls.
	cpu   time.Duration
	calls int
}

// round loads a server for a while, with that many reviews at once. The bodies
// take turns.
func round(ctx context.Context, p *process, c *http.Client, path string, bodies [][]byte, atOnce int, lasts time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	cpu, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	url := "https://" + p.address + path
	var turn atomic.Int64
	do := func(int) error { return post(c, url, bodies[int(turn.Add(1))%len(bodies)]) }
	result := load.Closed(ctx, atOnce, do)
	if len(result.Errors) > 0 {
		return sample{}, fmt.Errorf("%s, %d of %d: %w", p.name, len(result.Errors), len(result.Took), result.Errors[0])
	}
	cpuAfter, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	n := time.Duration(max(1, len(result.Took)))
	return sample{rate: result.Rate(), p50: result.Percentile(50), p99: result.Percentile(99), cpu: (cpuAfter - cpu) / n, calls: int(n)}, nil
}

// A comparison is the baseline and usher under the same load, in turns.
type comparison struct {
	baseline, usher []sample
}

// compare runs rounds of both in turns, the first of each not counted.
func (b *bench) compare(ctx context.Context, path string, bodies [][]byte, atOnce int) (comparison, error) {
	var c comparison
	clients := [2]*http.Client{client(), client()}
	defer clients[0].CloseIdleConnections()
	defer clients[1].CloseIdleConnections()
	for i := -1; i < b.rounds; i++ {
		for k, p := range []*process{b.baseline, b.usher} {
			got, err := round(ctx, p, clients[k], path, bodies, atOnce, b.lasts)
			if err != nil {
				return c, err
			}
			switch {
			case i < 0:
			case k == 0:
				c.baseline = append(c.baseline, got)
			default:
				c.usher = append(c.usher, got)
			}
		}
	}
	return c, nil
}

// ratio returns the median of the rounds' ratios of the baseline's to usher's, so
// that background load affects both equally.
func (c comparison) ratio(of func(sample) float64) float64 {
	ratios := make([]float64, len(c.baseline))
	for i := range ratios {
		ratios[i] = of(c.baseline[i]) / of(c.usher[i])
	}
	return median(ratios)
}

func rate(s sample) float64    { return s.rate }
func half(s sample) float64    { return s.p50.Seconds() * 1000 }
func slowest(s sample) float64 { return s.p99.Seconds() * 1000 }
func spent(s sample) float64   { return s.cpu.Seconds() * 1000 }

// medianOf returns the median of the rounds.
func medianOf(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return median(values)
}

func median[T cmp.Ordered](values []T) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
