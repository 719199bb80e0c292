//go:build soak

package rest_test

import (
	"flag"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	allPods     = flag.Int("pods", 10_000, "how many pods there are while pods are refused")
	refusedPods = flag.Int("refused", 1_000, "how many pods, each of another owner, usher refuses at once")
	quiet       = flag.Duration("quiet", 3*time.Minute, "how long to count the requests before and after the pods are refused")
)

// TestRefusals_AWaveBesideManyPods counts the requests of the controller that tells
// owners of refused pods: at rest, while usher refuses many pods, and afterwards,
// while Kubernetes tries to create them again.
func TestRefusals_AWaveBesideManyPods(t *testing.T) {
	const namespaces = 100
	w := refusing(t)
	w.pods(*allPods, namespaces)
	w.wave(0, 1, namespaces) // from here on the controller works

	began := time.Now()
	time.Sleep(*quiet)
	t.Logf("at rest, beside %d pods, in %s:\n%s", *allPods, *quiet, w.requests(began))
	if diff := cmp.Diff(requests{}, w.made(began)); diff != "" {
		t.Errorf("requests at rest (-want +got):\n%s", diff)
	}

	began = time.Now()
	w.wave(1, *refusedPods, namespaces)
	took := time.Since(began)
	made := w.made(began)
	t.Logf("%d owners were told in %s, in requests:\n%s", *refusedPods-1, took.Round(time.Second), w.requests(began))
	for minute := range int(took.Minutes()) + 1 {
		from, until := began.Add(time.Duration(minute)*time.Minute), began.Add(time.Duration(minute+1)*time.Minute)
		t.Logf("minute %d: %d requests", minute+1, sum(w.made(from))-sum(w.made(until)))
	}
	if diff := cmp.Diff(requests{"get replicasets": *refusedPods - 1, "create events": *refusedPods - 1}, made); diff != "" {
		t.Errorf("requests of the wave (-want +got):\n%s", diff)
	}

	began = time.Now()
	time.Sleep(*quiet)
	t.Logf("while Kubernetes tries again, in %s:\n%s", *quiet, w.requests(began))
	if diff := cmp.Diff(requests{}, w.made(began)); diff != "" {
		t.Errorf("requests after the wave (-want +got):\n%s", diff)
	}
}

// sum is the number of all requests.
func sum(made requests) (all int) {
	for _, n := range made {
		all += n
	}
	return all
}
