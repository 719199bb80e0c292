package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/previous"
)

// A round of the comparison of two programs visits each server this many times
// and for this long, so that other work on the machine disturbs all of them
// alike.
const (
	visits = 12
	visit  = 150 * time.Millisecond
)

// A duel is today's server and others, of which some may not answer all reviews.
type duel struct {
	others []*process
	works  []recordedWork
}

// peers are programs of others that inject, by name. They are started with an
// address and a folder for their files, and answer under /mutate.
type peers map[string]string

func (p peers) String() string { return "" }

// Set reads NAME=PROGRAM.
func (p peers) Set(value string) error {
	name, program, found := strings.Cut(value, "=")
	if !found {
		return fmt.Errorf("%q: write NAME=PROGRAM", value)
	}
	p[name] = program
	return nil
}

// runAgainst starts the server, another build of it, which is a file or a commit,
// and peers, and compares them.
func runAgainst(ctx context.Context, server, against string, peers peers, compare func(*bench, context.Context, duel) error) error {
	folder, err := os.MkdirTemp("", "usher-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program, err := other(ctx, against, folder)
	if err != nil {
		return err
	}
	b, err := start(ctx, folder, server)
	if err != nil {
		return err
	}
	defer b.stop()
	kubeconfig := filepath.Join(b.folder, "administrator")
	if err := os.WriteFile(kubeconfig, b.plane.Kubeconfig, 0o600); err != nil {
		return err
	}
	var d duel
	defer func() {
		for _, p := range d.others {
			p.stop()
		}
	}()
	// Its rights are not those of today's manifest.
	p, err := b.startUsher(ctx, filepath.Base(against), program, kubeconfig)
	if err != nil {
		return err
	}
	d.others = append(d.others, p)
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		address, err := controlplane.FreeAddress()
		if err != nil {
			return err
		}
		if p, err = startProcess(ctx, name, address, b.folder, nil, peers[name], address, b.folder); err != nil {
			return err
		}
		d.others = append(d.others, p)
	}
	if d.works, err = b.record(ctx); err != nil {
		return err
	}
	return compare(b, ctx, d)
}

// other returns the path of the program to compare with: a file, or the server of
// a commit, which it builds.
func other(ctx context.Context, against, folder string) (string, error) {
	if _, err := os.Stat(against); err == nil {
		return filepath.Abs(against)
	}
	return previous.BuildAt(ctx, folder, against)
}

// against measures the processor time of a review in today's program and in the
// others, in turns, and prints a table.
func (b *bench) against(ctx context.Context, d duel) error {
	t := table{head: []string{"CPU of a review, ms", "bytes", "at once", "baseline", "today", "relative to the baseline"}}
	for _, p := range d.others {
		t.head = append(t.head, p.name, "relative to the baseline", "today's of "+p.name+"'s", "rounds")
	}
	for _, w := range d.works {
		spent, err := b.race(ctx, w, 2, append([]*process{b.baseline, b.usher}, d.others...))
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		baseline, today := spent[0], spent[1]
		row := []string{w.name, sizes(w.bodies), fmt.Sprint(w.atOnce), milliseconds(baseline), milliseconds(today), times(today, baseline)}
		for _, other := range spent[2:] {
			if other == nil {
				row = append(row, "–", "–", "–", "–")
				continue
			}
			ratios := slices.Sorted(slices.Values(quotients(today, other)))
			row = append(row, milliseconds(other), times(other, baseline), fmt.Sprintf("%.3f", median(ratios)), fmt.Sprintf("%.3f–%.3f", ratios[0], ratios[len(ratios)-1]))
		}
		t.add(row...)
		fmt.Fprintln(os.Stderr, row)
	}
	fmt.Printf("Medians of %d rounds, over HTTP/1.1, the programs in turns:\n\n%s", b.rounds, &t)
	return nil
}

// race loads the servers in turns and returns the processor time of a review in
// each round. The first servers must answer such reviews; of others that do not,
// it is nil.
func (b *bench) race(ctx context.Context, w recordedWork, must int, servers []*process) ([][]time.Duration, error) {
	clients := make([]*http.Client, len(servers))
	var racing []int
	for i, p := range servers {
		clients[i] = client()
		defer clients[i].CloseIdleConnections()
		err := answers(clients[i], p, w)
		switch {
		case err == nil:
			racing = append(racing, i)
		case i < must:
			return nil, err
		default:
			fmt.Fprintf(os.Stderr, "%s: without %s: %v\n", w.name, p.name, err)
		}
	}
	spent := make([][]time.Duration, len(servers))
	for i := -1; i < b.rounds; i++ { // the first is not counted
		took, calls := make([]time.Duration, len(servers)), make([]int, len(servers))
		for n := range visits {
			for turn := range racing {
				k := racing[(turn+n)%len(racing)]
				if n%2 == 1 {
					k = racing[len(racing)-1-(turn+n)%len(racing)]
				}
				s, err := round(ctx, servers[k], clients[k], w.path, w.bodies, w.atOnce, visit)
				if err != nil {
					return nil, err
				}
				took[k] += s.cpu * time.Duration(s.calls)
				calls[k] += s.calls
			}
		}
		for _, k := range racing {
			if i >= 0 {
				spent[k] = append(spent[k], took[k]/time.Duration(calls[k]))
			}
		}
	}
	return spent, nil
}

// answers fails unless the server answers every review of the work.
func answers(c *http.Client, p *process, w recordedWork) error {
	for _, body := range w.bodies {
		if err := post(c, "https://"+p.address+w.path, body); err != nil {
			return err
		}
	}
	return nil
}

// quotients are those of each round.
func quotients(of, by []time.Duration) []float64 {
	ratios := make([]float64, len(of))
	for i := range of {
		ratios[i] = of[i].Seconds() / by[i].Seconds()
	}
	return ratios
}

func times(of, by []time.Duration) string { return two(median(quotients(of, by))) + " ×" }

func milliseconds(rounds []time.Duration) string {
	return fmt.Sprintf("%.4f", median(rounds).Seconds()*1000)
}

// sizes is the mean size of the reviews.
func sizes(bodies [][]byte) string {
	total := 0
	for _, body := range bodies {
		total += len(body)
	}
	return fmt.Sprint(total / len(bodies))
}
