package prometheus_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/usher-dev/usher/test/prometheus"
)

// TestServiceLevelsAreRecorded measures a cluster that misses every service
// level, and another that holds them.
func TestServiceLevelsAreRecorded(t *testing.T) {
	misses := cause{breaks: func(s *state, m int) {
		s.apiServer[open] = float64(6 * (m + 1)) // of 60 calls
		for _, replica := range s.webhooks {
			replica[`usher_request_duration_seconds_bucket{path="/mutate",le="0.128"}`] /= 2
			replica["usher_registration_current"] = 0
		}
		controls(series{
			object("usher_etcdbackup_last_success_timestamp_seconds", "shop"):       seconds(-131),
			`usher_etcdcluster_members{ready="false",namespace="shop",name="main"}`: 1,
		})(s, m)
	}}
	s := setting{installations: []installation{production.in("a"), production.in("b")}}
	p := prometheus.New(t)
	s.play(p, &misses, 0, 0, 60*minute)
	tests := []struct {
		record string
		want   map[string]float64 // by cluster and namespace
	}{
		{"cluster:usher_calls_answered:ratio28d", map[string]float64{"a ": 0.9, "b ": 1}},
		{"namespace:usher_decisions_fast:ratio28d", map[string]float64{"a usher-system": 0.5, "b usher-system": 1}},
		{"namespace:usher_registration_current:ratio28d", map[string]float64{"a usher-system": 0, "b usher-system": 1}},
		{"name:usher_etcdbackup_recent:ratio28d", map[string]float64{"a shop": 0, "a stage": 1, "b shop": 1, "b stage": 1}},
		{"name:usher_etcdcluster_complete:ratio28d", map[string]float64{"a shop": 0, "a stage": 1, "b shop": 1, "b stage": 1}},
	}
	var records []string
	for _, test := range tests {
		records = append(records, test.record)
	}
	for i, samples := range p.Query(records...) {
		got := map[string]float64{}
		for _, sample := range samples {
			got[sample.Labels["cluster"]+" "+sample.Labels["namespace"]] = sample.Value
		}
		same := len(got) == len(tests[i].want)
		for of, want := range tests[i].want {
			same = same && math.Abs(got[of]-want) < 0.02
		}
		if !same {
			t.Errorf("%s is %s, want %v", records[i], fmt.Sprint(got), tests[i].want)
		}
	}
}
