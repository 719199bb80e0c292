package injector

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConflictsBetweenTemplatesAreKnownAtLoad(t *testing.T) {
	s := set(mustParse(t, "a", small, ""), mustParse(t, "b", small, ""), mustParse(t, "c", second, ""))
	want := []string{`templates a and b cannot be injected together: conflict-container: the container "side" of template b (containers) has the name of one of template a; rename one of them`}
	if diff := cmp.Diff(want, s.Conflicts()); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}
