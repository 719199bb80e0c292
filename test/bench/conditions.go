package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// evaluated is how often the API server evaluated the match conditions of a
// webhook, and the time that this took.
type evaluated struct {
	count int
	took  time.Duration
}

var conditionsLine = regexp.MustCompile(`(?m)^apiserver_admission_match_condition_evaluation_seconds_(count|sum)\{.*name="([^"]+)",operation="CREATE".*\} (\S+)$`)

// parseConditions reads the evaluations for creations from the API server's
// metrics, by webhook.
func parseConditions(metrics []byte) (map[string]evaluated, error) {
	all := map[string]evaluated{}
	for _, m := range conditionsLine.FindAllSubmatch(metrics, -1) {
		value, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m[0], err)
		}
		e := all[string(m[2])]
		if string(m[1]) == "count" {
			e.count += int(value)
		} else {
			e.took += time.Duration(value * float64(time.Second))
		}
		all[string(m[2])] = e
	}
	return all, nil
}

// conditions returns the evaluations so far.
func (b *bench) conditions(ctx context.Context) (map[string]evaluated, error) {
	metrics, err := b.clients.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	return parseConditions(metrics)
}

// conditionsTable lists the evaluations between two states. The API server counts
// only those that excluded the object.
func conditionsTable(before, after map[string]evaluated) string {
	t := table{head: []string{"match conditions that excluded a pod", "evaluations", "µs each"}}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		e := evaluated{after[name].count - before[name].count, after[name].took - before[name].took}
		if e.count > 0 {
			t.add(name, strconv.Itoa(e.count), two(float64(e.took.Nanoseconds())/1000/float64(e.count)))
		}
	}
	return t.String()
}
