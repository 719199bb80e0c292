package cluster

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestLastLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"the message and error of a JSON line": {"first\n" + `{"level":"fatal","ts":"2026-11-21T19:23:59Z","msg":"discovery failed","error":"no peers"}`, "discovery failed: no peers"},
		"a message alone":                      {`{"msg":"closed"}`, "closed"},
		"a line that is not JSON":              {"panic: runtime error\n", "panic: runtime error"},
		"nothing":                              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastLine(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestAnErrorIsTriedAgainWithinTenSeconds(t *testing.T) {
	retries, after := Retries(), time.Duration(0)
	for range 100 {
		after = retries.When(reconcile.Request{})
	}
	if after > 10*time.Second {
		t.Errorf("after 100 errors in a row the next try is after %s", after)
	}
}
