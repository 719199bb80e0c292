package traffic_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/usher-dev/usher/test/history"
)

// plants are ways to falsify a history. Each reports whether it changed
// anything.
var plants = map[string]func(*rand.Rand, *history.History) bool{
	"an acknowledged write that nobody stored": func(random *rand.Rand, h *history.History) bool {
		lost := pick(random, writes(h)).Answer.Revision
		keep := func(e history.Event) bool { return e.State.Modified != lost }
		filter(h.Logs, keep)
		filter(h.Watches, keep)
		return true
	},
	"a store that was rolled back": func(random *rand.Rand, h *history.History) bool {
		from := pick(random, writes(h)).Answer.Revision
		filter(h.Logs, func(e history.Event) bool { return e.State.Modified < from })
		return true
	},
	"an event that a watch was not told of": func(random *rand.Rand, h *history.History) bool {
		lose(random, &h.Watches[random.IntN(len(h.Watches))])
		return true
	},
	"an event that a member does not have": func(random *rand.Rand, h *history.History) bool {
		lose(random, &h.Logs[random.IntN(len(h.Logs))])
		return true
	},
	"an event told twice": func(random *rand.Rand, h *history.History) bool {
		w := &h.Watches[random.IntN(len(h.Watches))]
		i := random.IntN(len(w.Events))
		w.Events = slices.Insert(w.Events, i, w.Events[i])
		return true
	},
	"events told in the wrong order": func(random *rand.Rand, h *history.History) bool {
		w := h.Watches[random.IntN(len(h.Watches))]
		i := random.IntN(len(w.Events) - 1)
		w.Events[i], w.Events[i+1] = w.Events[i+1], w.Events[i]
		return true
	},
	"a member with another value": func(random *rand.Rand, h *history.History) bool {
		l := h.Logs[random.IntN(len(h.Logs))]
		l.Events[random.IntN(len(l.Events))].State.Value = "another"
		return true
	},
	"a write that was applied twice": func(random *rand.Rand, h *history.History) bool {
		again := pick(random, h.Logs[0].Events)
		if again.Deleted {
			return false // this may be one that was requested but not answered
		}
		again.State.Modified = h.Logs[0].Events[len(h.Logs[0].Events)-1].State.Modified + 1
		again.State.Created, again.State.Version = again.State.Modified, 1
		appendToAll(h, again)
		return true
	},
	"a read of an earlier revision": func(random *rand.Rand, h *history.History) bool {
		o, earlier := readAndEarlier(random, h)
		if o == nil {
			return false
		}
		o.Answer.Revision, o.Answer.Found = earlier.State.Modified, earlier.State
		return true
	},
	"an earlier state at the present revision": func(random *rand.Rand, h *history.History) bool {
		o, earlier := readAndEarlier(random, h)
		if o == nil || o.Answer.Found == earlier.State {
			return false
		}
		o.Answer.Found = earlier.State
		return true
	},
	"a wrong version": func(random *rand.Rand, h *history.History) bool {
		pick(random, reads(h)).Answer.Found.Version++
		return true
	},
	"an answer of another cluster": func(random *rand.Rand, h *history.History) bool {
		pick(random, writes(h)).Answer.Cluster++
		return true
	},
	"two writes that exchanged their revisions": func(random *rand.Rand, h *history.History) bool {
		a, b := pick(random, writes(h)).Answer, pick(random, writes(h)).Answer
		a.Revision, b.Revision = b.Revision, a.Revision
		return a != b
	},
	"a deletion that was applied twice": func(random *rand.Rand, h *history.History) bool {
		// The first may be one that was requested but not answered.
		log := h.Logs[0].Events
		gone := history.Event{Key: pick(random, log).Key, Deleted: true, State: history.State{Modified: log[len(log)-1].State.Modified}}
		for range 2 {
			gone.State.Modified++
			appendToAll(h, gone)
		}
		return true
	},
	"a deletion that nobody asked for": func(random *rand.Rand, h *history.History) bool {
		last := h.Logs[0].Events[len(h.Logs[0].Events)-1].State.Modified
		gone := history.Event{Key: "end", Deleted: true, State: history.State{Modified: last + 1}}
		appendToAll(h, gone)
		return true
	},
}

// TestPlantedMistakesAreReported makes a real history wrong in every way, at many
// places.
func TestPlantedMistakesAreReported(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	running := write(t, to(c.Members...), 100)
	c.Members[0].Stop() // some outcomes are unknown
	more(t, running, 50)
	must(t, c.Members[0].Start())
	more(t, running, 100)
	recorded := finish(t, running, to(c.Members...))
	if v := history.Check(recorded, history.Patience); len(v.Problems) > 0 {
		t.Fatal(v)
	}
	const seeds = 200
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planted := 0
			for seed := range uint64(seeds) {
				h := clone(recorded)
				if !plant(rand.New(rand.NewPCG(seed, 0)), &h) {
					continue
				}
				planted++
				if v := history.Check(h, history.Patience); len(v.Problems) == 0 {
					t.Errorf("seed %d: nothing was reported: %s", seed, v)
				}
			}
			if planted == 0 {
				t.Error("nothing was planted")
			}
		})
	}
}

// TestASearchWithoutTimeIsAProblem checks that an unknown result does not pass.
func TestASearchWithoutTimeIsAProblem(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	h := finish(t, write(t, to(c.Members...), 50), to(c.Members...))
	if v := history.Check(h, 0); len(v.Problems) == 0 {
		t.Error("the search had no time, and nothing was reported")
	}
	if v := history.Check(history.History{}, history.Patience); len(v.Problems) == 0 {
		t.Error("nothing was recorded, and nothing was reported")
	}
}

// appendToAll adds one more change to all members' logs and all watches.
func appendToAll(h *history.History, e history.Event) {
	for _, all := range [][]history.Events{h.Logs, h.Watches} {
		for i := range all {
			all[i].Events = append(all[i].Events, e)
		}
	}
}

func pick[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

func writes(h *history.History) (all []*history.Operation) {
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Answer != nil && o.Answer.Wrote {
			all = append(all, o)
		}
	}
	return all
}

func reads(h *history.History) (all []*history.Operation) {
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Answer != nil && !o.Answer.Wrote {
			all = append(all, o)
		}
	}
	return all
}

func filter(all []history.Events, keep func(history.Event) bool) {
	for i := range all {
		all[i].Events = slices.DeleteFunc(all[i].Events, func(e history.Event) bool { return !keep(e) })
	}
}

func lose(random *rand.Rand, from *history.Events) {
	i := random.IntN(len(from.Events))
	from.Events = slices.Delete(from.Events, i, i+1)
}

// readAndEarlier returns a read, and a change of its key before another
// operation that had returned when the read was sent.
func readAndEarlier(random *rand.Rand, h *history.History) (*history.Operation, history.Event) {
	read := pick(random, reads(h))
	latest := int64(0)
	for _, w := range writes(h) {
		if w.Return < read.Call && w.Key == read.Key {
			latest = max(latest, w.Answer.Revision)
		}
	}
	var before []history.Event
	for _, e := range h.Logs[0].Events {
		if e.Key == read.Key && !e.Deleted && e.State.Modified < latest {
			before = append(before, e)
		}
	}
	if len(before) == 0 {
		return nil, history.Event{}
	}
	return read, pick(random, before)
}

func clone(h history.History) history.History {
	h.Operations = slices.Clone(h.Operations)
	for i, o := range h.Operations {
		if o.Answer != nil {
			a := *o.Answer
			h.Operations[i].Answer = &a
		}
	}
	h.Logs, h.Watches = cloneEvents(h.Logs), cloneEvents(h.Watches)
	return h
}

func cloneEvents(all []history.Events) []history.Events {
	all = slices.Clone(all)
	for i := range all {
		all[i].Events = slices.Clone(all[i].Events)
	}
	return all
}
