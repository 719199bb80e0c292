package traffic_test

import (
	"testing"

	"github.com/usher-dev/usher/test/history"
)

// TestACleanRunHasNoProblems kills one member after the other, so that outcomes
// are unknown and watches go on elsewhere.
func TestACleanRunHasNoProblems(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	running := write(t, to(c.Members...), 50)
	for _, m := range c.Members {
		m.Stop()
		more(t, running, 20)
		must(t, m.Start())
		more(t, running, 20)
	}
	v := history.Check(finish(t, running, to(c.Members...)), history.Patience)
	t.Log(v)
	if len(v.Problems) > 0 {
		t.Error("etcd did nothing wrong")
	}
	if v.Writes < 150 || v.Reads < 20 || v.Events < 300 {
		t.Error("too little was recorded to show anything")
	}
}
