package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// quick is a round of a short run.
const quick = 300 * time.Millisecond

// limits are those of a short run: about half of the measured values, so that
// only a change of the code falls below them. They are the floor's processor
// time of a request over usher's, which other work on the machine affects
// least.
func limits() map[string]float64 {
	return map[string]float64{"seed pod": 0.2, "realistic pod": 0.2, "pod, 1,500 variables": 0.2, "Deployment CREATE": 0.19, "Job CREATE": 0.2, "CronJob CREATE": 0.2}
}

// serving is the request path: usher's process compared with the floor's.
func serving(ctx context.Context, b *bench) (section, error) {
	works, err := corpus()
	if err != nil {
		return section{}, err
	}
	var text strings.Builder
	budgets := table{head: []string{"work, 32 at once", "floor", "usher", "share of the floor's throughput", "budget", ""}}
	all := table{head: []string{"work", "bytes", "at once", "floor/s", "usher/s", "share", "floor p50", "usher p50", "floor p99", "usher p99",
		"floor CPU s/1,000", "usher CPU s/1,000", "share", "floor GC", "usher GC"}}
	latency := table{head: []string{"one at a time", "floor p50 ms", "usher p50 ms", "of the floor's", "budget", ""}}
	bars := plot{title: "Share of the floor's throughput", xName: "at once", yName: "share", logarithmic: true}
	replica := table{head: []string{"memory of a replica, peak MiB", "floor", "usher", "of that its own", "budget", ""}}
	for _, w := range works {
		if err := errors.Join(b.floor.forgetPeak(), b.usher.forgetPeak()); err != nil {
			return section{}, err
		}
		line := series{name: w.name}
		for _, workers := range []int{1, 8, 32} {
			c, err := b.compare(ctx, w.path, w.body, shape{workers: workers})
			if err != nil {
				return section{}, err
			}
			share, cpu := 1/c.ratio(rate), c.ratio(spent)
			all.add(w.name, fmt.Sprint(len(w.body)), fmt.Sprint(workers), two(medianOf(c.floor, rate)), two(medianOf(c.usher, rate)), two(share),
				two(medianOf(c.floor, half)), two(medianOf(c.usher, half)), two(medianOf(c.floor, slowest)), two(medianOf(c.usher, slowest)),
				two(medianOf(c.floor, spent)), two(medianOf(c.usher, spent)), two(cpu), two(medianOf(c.floor, garbage))+" %", two(medianOf(c.usher, garbage))+" %")
			line.x, line.y = append(line.x, float64(workers)), append(line.y, share)
			if workers == 32 && w.budget > 0 {
				budgets.add(w.name, two(medianOf(c.floor, rate))+"/s", two(medianOf(c.usher, rate))+"/s", two(share), "≥ "+two(w.budget), held(share >= w.budget))
			}
			if workers == 1 && w.budget > 0 {
				times := 1 / c.ratio(half)
				latency.add(w.name, two(medianOf(c.floor, half)), two(medianOf(c.usher, half)), two(times)+" ×", "≤ 1.5 ×", held(times <= 1.5))
			}
		}
		bars.lines = append(bars.lines, line)
		floor, err := b.floor.memory(peakLine)
		if err != nil {
			return section{}, err
		}
		peak, err := b.usher.memory(peakLine)
		if err != nil {
			return section{}, err
		}
		program, err := b.usher.memory(fileLine)
		if err != nil {
			return section{}, err
		}
		replica.add(w.name, two(floor), two(peak), two(peak-program), "≤ 40", held(peak <= 40))
	}
	fmt.Fprintf(&text, "%s\n%s\n%s\n%s\n", &budgets, &latency, &replica, "![Share of the floor's throughput](performance-serving.svg)")
	fmt.Fprintf(&text, "\nEverything, HTTP/1.1; times in ms, share of the processor time is the floor's over usher's:\n\n%s\n", &all)
	rates, err := b.offered(ctx, works[0])
	if err != nil {
		return section{}, err
	}
	text.WriteString(rates)
	return section{text: text.String(), plots: map[string]plot{"serving": bars}}, nil
}

// offered is the open loop, and HTTP/2.
func (b *bench) offered(ctx context.Context, w work) (string, error) {
	open := table{head: []string{"offered a second", "floor p50", "usher p50", "floor p99", "usher p99"}}
	for _, perSecond := range []float64{100, 500, 1000, 2000} {
		c, err := b.compare(ctx, w.path, w.body, shape{perSecond: perSecond})
		if err != nil {
			return "", err
		}
		open.add(two(perSecond), two(medianOf(c.floor, half)), two(medianOf(c.usher, half)), two(medianOf(c.floor, slowest)), two(medianOf(c.usher, slowest)))
	}
	fast := *b
	var err error
	if fast.pair, err = b.servers(ctx, true); err != nil {
		return "", err
	}
	defer fast.pair.stop()
	c, err := fast.compare(ctx, w.path, w.body, shape{workers: 32, http2: true})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("\nThe %s offered at fixed rates, each timed from when it was due, in ms:\n\n%s\nOver HTTP/2, 32 at once: floor %s/s, usher %s/s, a share of %s.\n",
		w.name, &open, two(medianOf(c.floor, rate)), two(medianOf(c.usher, rate)), two(1/c.ratio(rate))), nil
}

// short fails where usher's share of the floor is below its limit.
func (b *bench) short(ctx context.Context) error {
	b.rounds, b.lasts = 5, quick
	works, err := corpus()
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range works {
		limit, ok := limits()[w.name]
		if !ok {
			continue
		}
		c, err := b.compare(ctx, w.path, w.body, shape{workers: 8})
		if err != nil {
			return err
		}
		share := c.ratio(spent)
		fmt.Printf("%-22s floor %s ms, usher %s ms of CPU, share %s, limit %s\n", w.name, two(medianOf(c.floor, spent)), two(medianOf(c.usher, spent)), two(share), two(limit))
		if !(share >= limit) {
			errs = append(errs, fmt.Errorf("%s: a request of the floor costs %s of one of usher's, below the limit of %s: find what got slower (go test -bench, pprof), or write the new limit into test/bench/serving.go", w.name, two(share), two(limit)))
		}
	}
	return errors.Join(errs...)
}
