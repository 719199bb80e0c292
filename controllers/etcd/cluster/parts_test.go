package cluster

import "testing"

func TestWhatEtcdSaidLast(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"the message and error of a JSON line": {"first\n" + `{"level":"fatal","ts":"2026-11-21T19:23:59Z","msg":"discovery failed","error":"no peers"}`, "discovery failed: no peers"},
		"a message alone":                      {`{"msg":"closed"}`, "closed"},
		"a line that is no JSON":               {"panic: runtime error\n", "panic: runtime error"},
		"nothing":                              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastLine(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
