package network_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
)

// A cut ends a controller's process at one of its external writes: before the
// write is sent, or after its response was lost. Reads continue until then.
type cut struct {
	next http.RoundTripper
	// at is the number of the write, from one.
	at    int
	after bool

	mutex  sync.Mutex
	writes int
	dead   chan struct{}
	what   string
}

var errCut = errors.New("the process was killed")

func (c *cut) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-c.dead:
		return nil, errCut
	default:
	}
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") {
		return c.next.RoundTrip(r)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	select {
	case <-c.dead:
		return nil, errCut
	default:
	}
	c.writes++
	if c.writes != c.at {
		return c.next.RoundTrip(r)
	}
	c.what = r.Method + " " + r.URL.Path
	if c.after {
		res, err := c.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		res.Body.Close()
	}
	close(c.dead)
	return nil, errCut
}

// killed reports whether the process has been killed.
func (c *cut) killed() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// TestKilledAtEveryWrite repeats a Network's life cycle, and kills the
// controller one write later each time. Whatever it was writing, its successor
// completes it: there is one network, and then none.
func TestKilledAtEveryWrite(t *testing.T) {
	c := newCluster(t)
	story := []struct {
		name string
		step func(*testing.T, *samplecrdv1.Network)
		done func(*samplecrdv1.Network) bool
		want int // definitions
	}{
		{"created", nil, made("10.20.0.0/24", "10.20.0.1"), 1},
		{"its gateway changed", func(t *testing.T, n *samplecrdv1.Network) { c.edit(t, n, "10.20.0.0/24", "10.20.0.2") }, made("10.20.0.0/24", "10.20.0.2"), 1},
		{"replaced", func(t *testing.T, n *samplecrdv1.Network) { c.edit(t, n, "10.21.0.0/24", "10.21.0.1") }, made("10.21.0.0/24", "10.21.0.1"), 1},
		{"deleted", func(t *testing.T, n *samplecrdv1.Network) { c.remove(t, n) }, nil, 0},
	}
	for _, after := range []bool{false, true} {
		kills, ended := 0, false
		for at := 1; !ended; at++ {
			k := &cut{at: at, after: after, dead: make(chan struct{})}
			stop := c.control(t, setting{transport: func(next http.RoundTripper) http.RoundTripper { k.next = next; return k }})
			n := c.network(t, fmt.Sprintf("net-%t-%d", after, at), "10.20.0.0/24", "10.20.0.1")
			for _, chapter := range story {
				if chapter.step != nil {
					chapter.step(t, n)
				}
				// The chapter ends, or the process does, and another one follows.
				over := func() bool {
					err := c.Get(t.Context(), keyOf(n), n)
					return err == nil && chapter.done != nil && chapter.done(n) || err != nil && chapter.done == nil
				}
				poll(t, chapter.name, func() bool { return over() || k.killed() })
				if k.killed() {
					stop()
					stop = c.control(t, setting{})
				}
				poll(t, fmt.Sprintf("%s, killed at %q", chapter.name, k.what), over)
				if got := len(c.definitions(t)); got != chapter.want {
					t.Fatalf("%s, killed at %q, answered %t: %d definitions, want %d", chapter.name, k.what, after, got, chapter.want)
				}
			}
			stop()
			if ended = !k.killed(); !ended {
				kills++
			}
		}
		t.Logf("killed at each of %d writes, answered: %t", kills, after)
		if kills < 8 {
			t.Errorf("killed %d times, and the story has more writes", kills)
		}
	}
}
