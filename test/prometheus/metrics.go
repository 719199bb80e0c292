package prometheus

import (
	_ "embed" // the list of metrics
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed metrics.yaml
var metricsFile []byte

// Metrics returns the labels of each metric that usher's rules and dashboards
// may use, by its name.
var Metrics = sync.OnceValue(func() map[string][]string {
	var metrics map[string][]string
	if err := yaml.UnmarshalStrict(metricsFile, &metrics); err != nil {
		panic(fmt.Sprintf("test/prometheus/metrics.yaml: %v", err))
	}
	for _, labels := range metrics {
		slices.Sort(labels)
	}
	return metrics
})

var (
	// line is a sample of an exposition: its name, and its labels if it has any.
	line = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:{(.*)})? `)
	// label is the name of a label, before its value, which may contain anything.
	label = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"`)
	// part is what a histogram adds to its name.
	part = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// known checks the names and labels of usher's samples in a scrape.
func known(text string) error {
	for sample := range strings.Lines(text) {
		found := line.FindStringSubmatch(sample)
		if found == nil || !strings.HasPrefix(sample, "usher_") {
			continue
		}
		labels := map[string]bool{}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			labels[l[1]] = true
		}
		name := found[1]
		if _, whole := Metrics()[name]; !whole {
			name = part.ReplaceAllString(name, "")
			delete(labels, "le")
		}
		want, ok := Metrics()[name]
		if got := slices.Sorted(maps.Keys(labels)); !ok || !slices.Equal(got, want) {
			return fmt.Errorf("%s has the labels %v; test/prometheus/metrics.yaml says %v (known: %t)", found[1], got, want, ok)
		}
	}
	return nil
}
