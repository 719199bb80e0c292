package main

import (
	"context"
	"errors"
	"fmt"
)

// serving is the request path: usher's process compared with the baseline's, on
// reviews that the API server sends.
func serving(ctx context.Context, b *bench) (section, error) {
	works, err := b.record(ctx)
	if err != nil {
		return section{}, err
	}
	processor := table{head: []string{"review", "bytes", "at once", "baseline CPU ms", "usher CPU ms", "relative to the baseline", "budget", "", "baseline/s", "usher/s", "usher p99 ms", "usher's peak MiB"}}
	latency := table{head: []string{"one at a time", "baseline p50 ms", "usher p50 ms", "relative to the baseline", "budget", ""}}
	for _, w := range works {
		if err := errors.Join(b.baseline.forgetPeak(), b.usher.forgetPeak()); err != nil {
			return section{}, err
		}
		c, err := b.compare(ctx, w.path, w.bodies, w.atOnce)
		if err != nil {
			return section{}, fmt.Errorf("%s: %w", w.name, err)
		}
		peak, err := b.usher.memory(peakLine)
		if err != nil {
			return section{}, err
		}
		cpu := 1 / c.ratio(spent)
		processor.add(w.name, sizes(w.bodies), fmt.Sprint(w.atOnce), fmt.Sprintf("%.3f", medianOf(c.baseline, spent)), fmt.Sprintf("%.3f", medianOf(c.usher, spent)),
			two(cpu)+" ×", "≤ "+fmt.Sprint(w.cpu), met(cpu <= w.cpu), two(medianOf(c.baseline, rate)), two(medianOf(c.usher, rate)), two(medianOf(c.usher, slowest)), two(peak))
		if c, err = b.compare(ctx, w.path, w.bodies, 1); err != nil {
			return section{}, fmt.Errorf("%s: %w", w.name, err)
		}
		p50 := 1 / c.ratio(half)
		latency.add(w.name, two(medianOf(c.baseline, half)), two(medianOf(c.usher, half)), two(p50)+" ×", "≤ "+fmt.Sprint(w.p50), met(p50 <= w.p50))
	}
	return section{text: fmt.Sprintf("%s\n%s", &processor, &latency)}, nil
}
