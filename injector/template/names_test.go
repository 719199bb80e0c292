package template

import (
	"strings"
	"testing"
)

func TestNamesOfKindsAndParameters_HaveAtMost63Characters(t *testing.T) {
	long := strings.Repeat("A", maxName)
	for name, want := range map[string]bool{"a": true, "A-_9": true, long: true, long + "A": false, "": false, "9": false, "a.b": false, "a\n": false} {
		if got := isParameterName(name); got != want {
			t.Errorf("%q as the name of a parameter: %t, want %t", name, got, want)
		}
	}
	for name, want := range map[string]bool{"Deployment": true, long: true, long + "A": false, "": false, "deployment": false, "A-b": false} {
		var bad InvalidError
		(&Match{Kinds: []string{name}}).parse(&bad)
		if got := len(bad.Problems) == 0; got != want {
			t.Errorf("%q as a kind: %t, want %t: %v", name, got, want, bad.Problems)
		}
	}
}
