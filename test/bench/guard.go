package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/previous"
)

const (
	// tolerance is by how many percent a review may take more processor time than
	// in the previous release.
	tolerance = 5
	// Other work on the machine disturbs a repeat now and then, so a review is
	// dearer where it is in two of three.
	repeats, enough = 3, 2
	raisesFile      = "test/bench/raised.yaml"
)

// guard fails where a review takes more processor time than in the previous
// release.
func (b *bench) guard(ctx context.Context, d duel) error {
	text, err := os.ReadFile(raisesFile)
	if err != nil {
		return err
	}
	var names []string
	for _, w := range d.works {
		names = append(names, w.name)
	}
	raised, err := raises(text, names)
	if err != nil {
		return fmt.Errorf("%s: %w", raisesFile, err)
	}
	b.rounds = 1
	last := d.others[0]
	var errs []error
	for _, w := range d.works {
		percent := cmp.Or(raised[w.name], tolerance)
		skipped := false
		more, above, err := dearer(percent, func() (float64, error) {
			spent, err := b.race(ctx, w, 1, []*process{b.usher, last})
			if err != nil || spent[1] == nil {
				skipped = true
				return 0, err
			}
			return 100 * (median(quotients(spent[0], spent[1])) - 1), nil
		})
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", w.name, err)
		case skipped:
			fmt.Printf("%-28s skipped: %s does not answer these reviews\n", w.name, last.name)
			continue
		}
		fmt.Printf("%-28s %+.1f %% processor time of %s's, limit %+g %%\n", w.name, more, last.name, percent)
		if above {
			errs = append(errs, fmt.Errorf("%s: a review takes %+.1f %% of %s's processor time, above the limit of %+g %%: find what got slower (make bench-stages, pprof), or raise the row in %s and say why",
				w.name, more, last.name, percent, raisesFile))
		}
	}
	return errors.Join(errs...)
}

// dearer repeats a measurement, by how many percent more processor time a review
// takes, until enough repeats are above the limit, or so few that the rest cannot
// change it. It returns the median of the repeats.
func dearer(percent float64, measure func() (float64, error)) (more float64, above bool, err error) {
	var measured []float64
	over := 0
	for len(measured) < repeats && over < enough && len(measured)-over <= repeats-enough {
		m, err := measure()
		if err != nil {
			return 0, false, err
		}
		measured = append(measured, m)
		if m > percent {
			over++
		}
	}
	return median(measured), over >= enough, nil
}

// raises reads the percentages of the reviews that are allowed to take more than
// tolerance, by their names.
func raises(text []byte, works []string) (map[string]float64, error) {
	var file struct {
		Against string `json:"against"`
		Rows    []struct {
			Work    string  `json:"work"`
			Percent float64 `json:"percent"`
			Reason  string  `json:"reason"`
			Commit  string  `json:"commit"`
		} `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, err
	}
	if len(file.Rows) > 0 && file.Against != previous.Commit {
		return nil, fmt.Errorf("against: the rows are about %q, and the previous release is %q: remove them, and measure again", file.Against, previous.Commit)
	}
	raised := map[string]float64{}
	for i, r := range file.Rows {
		switch {
		case !slices.Contains(works, r.Work):
			return nil, fmt.Errorf("rows[%d].work: no reviews are called %q; write one of %q", i, r.Work, works)
		case raised[r.Work] != 0:
			return nil, fmt.Errorf("rows[%d].work: %q has a row before", i, r.Work)
		case r.Percent <= tolerance:
			return nil, fmt.Errorf("rows[%d].percent: %g is not above the general limit of %d", i, r.Percent, tolerance)
		case r.Reason == "" || r.Commit == "":
			return nil, fmt.Errorf("rows[%d]: write the reason, and the commit that made the review dearer", i)
		}
		raised[r.Work] = r.Percent
	}
	return raised, nil
}
