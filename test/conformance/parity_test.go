package conformance

import (
	"cmp"
	"context"
	"flag"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/verdict"
)

var (
	seed    = flag.Uint64("seed", 1, "seed of what is generated")
	creates = flag.Int("creates", fewCreates, "how many objects are generated")
	updates = flag.Int("updates", fewUpdates, "how many changes are generated")
)

// An outcome is the result of the server and of usher for an object.
type outcome struct {
	object
	server answer
	found  []finding.Finding // by usher
	usher  []finding.Finding // those that the server refuses
	err    error
}

func (o *outcome) agrees() bool { return o.server.accepted == (len(o.usher) == 0) }

// cause is the server's, or that of usher's finding if the server accepts.
func (o *outcome) cause() string {
	switch {
	case !o.server.accepted && len(o.usher) == 0:
		return "missed: " + o.kind + " " + o.server.cause
	case !o.server.accepted:
		return "refused: " + o.kind + " " + o.server.cause
	case len(o.usher) > 0:
		return "invented: " + o.kind + " " + indexes.ReplaceAllString(o.usher[0].Field, "")
	}
	return "accepted"
}

// predictions are what usher says of an object, and refusals those of it that
// the server refuses.
func predictions(o object, old *verdict.Object) (found, refusals []finding.Finding) {
	namespace := cmp.Or(o.namespace, "default")
	typed := evaluator.Decode(o.apiVersion, o.kind, o.raw)
	found = validator.Validate(verdict.Object{APIVersion: o.apiVersion, Kind: o.kind, Namespace: namespace, JSON: o.raw, Typed: typed}, old, &verdict.Facts{})
	return found, slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return !f.RefusedByServer })
}

func judge(t *testing.T, objects []object) []outcome {
	t.Helper()
	outcomes := make([]outcome, len(objects))
	next := make(chan int)
	var wait sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				o := &outcomes[i]
				o.object = objects[i]
				o.server, o.err = server.create(context.Background(), o.apiVersion, o.kind, o.namespace, o.raw)
				o.found, o.usher = predictions(o.object, nil)
			}
		})
	}
	for i := range objects {
		next <- i
	}
	close(next)
	wait.Wait()
	for i := range outcomes {
		if outcomes[i].err != nil {
			t.Fatalf("%s: %v", outcomes[i].from, outcomes[i].err)
		}
	}
	return outcomes
}

func TestFixturesAreJudgedAsTheServerJudgesThem(t *testing.T) {
	for _, o := range judge(t, fixtures(t, "*")) {
		if !o.agrees() {
			t.Errorf("%s: %s: the server says %q, usher %v", o.from, o.cause(), o.server.message, o.usher)
		}
	}
}

// acceptedInvariants are the rules of level invariant about objects that the
// server accepts although they cannot work.
var acceptedInvariants = []string{
	"backup-endpoint", "backup-path", "backup-policy", "backup-storage", "cronjob-deadline-zero", "cronjob-impossible",
	"etcd-auto-restore", "etcd-claim", "etcd-defragmentation", "etcd-reserved-env", "job-deadline-zero", "network-cidr", "network-cluster-range", "network-gateway", "probe-port", "restore-running", "sts-name-52",
}

func TestInvariantsThatTheServerAcceptsAreFewAndNamed(t *testing.T) {
	var got []string
	for _, r := range rules.All() {
		if r.Level == finding.Invariant {
			got = append(got, r.ID)
		}
	}
	if !slices.Equal(got, acceptedInvariants) {
		t.Errorf("rules of level invariant: %v, want %v", got, acceptedInvariants)
	}
}

func TestCreatesAreJudgedAsTheServerJudgesThem(t *testing.T) {
	outcomes := judge(t, variations(*seed, *creates, validObjects(t)))
	s := newScore("creates")
	for i := range outcomes {
		o := &outcomes[i]
		s.add(o.kind, o.cause(), o.agrees(), o.server.accepted, func() string {
			return o.from + "\n" + string(o.raw) + "\nserver: " + o.server.message
		})
	}
	s.report(t, required())
}

// validObjects are fixtures that the server accepts, the richer ones more often.
func validObjects(t *testing.T) (valid []object) {
	t.Helper()
	for _, o := range judge(t, fixtures(t, "allow")) {
		if o.server.accepted && o.agrees() {
			// Objects with many fields have more to vary.
			for range 1 + len(o.raw)/1000*10 {
				valid = append(valid, o.object)
			}
		}
	}
	return evenly(valid, 20)
}

// evenly repeats the objects of rare kinds, so that each kind has the same
// share.
func evenly(objects []object, share int) []object {
	byKind := map[string][]object{}
	for _, o := range objects {
		byKind[o.apiVersion+o.kind] = append(byKind[o.apiVersion+o.kind], o)
	}
	for _, key := range slices.Sorted(maps.Keys(byKind)) {
		for n := len(byKind[key]); n < share; n++ {
			objects = append(objects, byKind[key][n%len(byKind[key])])
		}
	}
	return objects
}
