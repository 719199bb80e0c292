package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/usher-dev/usher/test/previous"
)

// A round of the comparison of two programs visits each server this many times
// and for this long, so that other work on the machine disturbs all of them
// alike.
const (
	visits = 12
	visit  = 150 * time.Millisecond
)

// other returns the path of the program to compare with: a file, or the server of
// a commit, which it builds.
func other(ctx context.Context, against, folder string) (string, error) {
	if _, err := os.Stat(against); err == nil {
		return filepath.Abs(against)
	}
	return previous.BuildAt(ctx, folder, against)
}

// against measures the processor time of a review in today's program and in
// another one, in turns, and prints a table. It fails where today's is worse by
// more than that many percent, unless that is 0.
func (b *bench) against(ctx context.Context, name, program string, worse float64) error {
	kubeconfig := filepath.Join(b.folder, "administrator")
	if err := os.WriteFile(kubeconfig, b.plane.Kubeconfig, 0o600); err != nil {
		return err
	}
	// Its rights are not those of today's manifest.
	old, err := b.startUsher(ctx, "other", program, kubeconfig, false)
	if err != nil {
		return err
	}
	defer old.stop()
	works, err := b.record(ctx)
	if err != nil {
		return err
	}
	t := table{head: []string{"CPU of a review, ms", "bytes", "at once", "floor", name, "today", "today's of " + name + "'s", "rounds", name + "'s of the floor's", "today's of the floor's"}}
	var errs []error
	for _, w := range works {
		spent, err := b.race(ctx, w, []*process{b.floor, b.usher, old})
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		floor, today, other := spent[0], spent[1], spent[2]
		row := []string{w.name, sizes(w.bodies), fmt.Sprint(w.atOnce), milliseconds(floor), "–", milliseconds(today), "–", "–", "–", times(today, floor)}
		if other != nil {
			ratios := slices.Sorted(slices.Values(quotients(today, other)))
			row[4], row[6], row[8] = milliseconds(other), fmt.Sprintf("%.3f", median(ratios)), times(other, floor)
			row[7] = fmt.Sprintf("%.3f–%.3f", ratios[0], ratios[len(ratios)-1])
			if by := 100 * (median(ratios) - 1); worse > 0 && by > worse {
				errs = append(errs, fmt.Errorf("%s: today's program takes %.1f %% more processor time than %s, more than %g %%", w.name, by, name, worse))
			}
		}
		t.add(row...)
		fmt.Fprintln(os.Stderr, row)
	}
	fmt.Printf("Medians of %d rounds, over HTTP/1.1, the programs in turns:\n\n%s", b.rounds, &t)
	return errors.Join(errs...)
}

// race loads the servers in turns and returns the processor time of a review in
// each round, nil for the last server if it does not answer such reviews.
func (b *bench) race(ctx context.Context, w recordedWork, servers []*process) ([][]time.Duration, error) {
	clients := make([]*http.Client, len(servers))
	for i, p := range servers {
		clients[i] = client(false)
		defer clients[i].CloseIdleConnections()
		for _, body := range w.bodies {
			err := post(clients[i], "https://"+p.address+w.path, body)
			if err == nil {
				continue
			}
			if i < 2 {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "%s: left out of the other program: %v\n", w.name, err)
			servers = servers[:i]
			break
		}
	}
	spent := make([][]time.Duration, len(clients))
	for i := -1; i < b.rounds; i++ { // the first is not counted
		took, calls := make([]time.Duration, len(servers)), make([]int, len(servers))
		for n := range visits {
			for turn := range servers {
				k := (turn + n) % len(servers)
				if n%2 == 1 {
					k = len(servers) - 1 - k
				}
				s, err := round(ctx, servers[k], clients[k], w.path, w.bodies, shape{workers: w.atOnce}, visit)
				if err != nil {
					return nil, err
				}
				took[k] += s.cpu * time.Duration(s.calls)
				calls[k] += s.calls
			}
		}
		for k := range servers {
			if i >= 0 {
				spent[k] = append(spent[k], took[k]/time.Duration(calls[k]))
			}
		}
	}
	return spent, nil
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
