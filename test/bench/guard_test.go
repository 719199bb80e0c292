package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/test/previous"
)

func TestAReviewIsDearerInTwoOfThreeRepeats(t *testing.T) {
	for name, tt := range map[string]struct {
		repeats []float64
		asked   int
		more    float64
		above   bool
	}{
		"twice below":               {[]float64{-3, 5, 40}, 2, 5, false},
		"twice above":               {[]float64{6, 7, -40}, 2, 7, true},
		"a disturbed repeat":        {[]float64{30, 1, 2}, 3, 2, false},
		"a lucky repeat":            {[]float64{1, 6, 7}, 3, 6, true},
		"the last repeat decides":   {[]float64{1, 6, 2}, 3, 2, false},
		"exactly the limit is fine": {[]float64{5, 5, 6}, 2, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			more, above, err := dearer(5, func() (float64, error) { asked++; return tt.repeats[asked-1], nil })
			if err != nil || asked != tt.asked || more != tt.more || above != tt.above {
				t.Errorf("%v, %v, %v after %d repeats; want %v, %v after %d", more, above, err, asked, tt.more, tt.above, tt.asked)
			}
		})
	}
	failure := errors.New("the server went away")
	if _, _, err := dearer(5, func() (float64, error) { return 0, failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}

func TestARaisedRowSaysOfWhatAndWhy(t *testing.T) {
	const row = "{work: seed pod, percent: 8, commit: 1a2b3c4, reason: each answer is signed}"
	against := "against: " + previous.Commit + "\n"
	for name, tt := range map[string]struct {
		text string
		want map[string]float64
		err  string
	}{
		"no rows":             {"against: abc\nrows: []\n", map[string]float64{}, ""},
		"a row":               {against + "rows: [" + row + "]", map[string]float64{"seed pod": 8}, ""},
		"an older release":    {"against: abc\nrows: [" + row + "]", nil, `against: the rows are about "abc"`},
		"unknown reviews":     {against + "rows: [{work: pods, percent: 8, commit: a, reason: b}]", nil, `rows[0].work: no reviews are called "pods"; write one of ["seed pod"]`},
		"twice":               {against + "rows: [" + row + ", " + row + "]", nil, "rows[1].work"},
		"below the limit":     {against + "rows: [{work: seed pod, percent: 3, commit: a, reason: b}]", nil, "rows[0].percent: 3 is not above the general limit of 5"},
		"without a reason":    {against + "rows: [{work: seed pod, percent: 8, commit: a}]", nil, "rows[0]: write the reason"},
		"an unknown field":    {against + "rows: [{work: seed pod, percent: 8, commit: a, reason: b, until: tomorrow}]", nil, "until"},
		"not what YAML means": {"rows: 5", nil, "rows"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := raises([]byte(tt.text), []string{"seed pod"})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got the error %v; want %q", err, tt.err)
			}
		})
	}
}
