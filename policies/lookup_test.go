package policies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	rules := Rules{{ID: "deploy-history-zero"}, {ID: "job-deadline-zero"}, {ID: "sts-grace-zero"}}
	for id, want := range map[string]string{
		"deploy-history-zero": "", "job-deadline-zero": "", "sts-grace-zero": "",
		"job-deadline-zer": `rule "job-deadline-zer" is unknown: did you mean job-deadline-zero?`,
		"nonsense":         `rule "nonsense" is unknown: usher rules lists them`,
	} {
		rule, err := rules.Lookup(id)
		got := ""
		if err != nil {
			got = err.Error()
		} else if rule.ID != id {
			t.Errorf("%s: got the rule %s", id, rule.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestLookup_KnownID_ComparesNoWords: each finding of a request is looked up.
func TestLookup_KnownID_ComparesNoWords(t *testing.T) {
	rules := Rules{{ID: "deploy-history-zero"}, {ID: "job-deadline-zero"}, {ID: "sts-grace-zero"}}
	if n := testing.AllocsPerRun(10, func() {
		if _, err := rules.Lookup("sts-grace-zero"); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("finding a known id allocates %v times", n)
	}
}
