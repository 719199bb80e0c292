package verdict_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// A server is a Validator that refuses a change or accepts it.
type server struct {
	refuses  []finding.Finding
	complete bool
}

func (s server) Validate(verdict.Object, *verdict.Object, *verdict.Facts) []finding.Finding {
	return s.refuses
}

func (s server) Complete(verdict.Object) bool { return s.complete }

func (server) Admit(context.Context, *verdict.Object, *verdict.Object, bool, *verdict.Facts) []finding.Finding {
	return nil
}

// TestJudge_ServerRows asks the API server's own validation about a change that the
// table's rows say it refuses.
func TestJudge_ServerRows(t *testing.T) {
	old := deployment
	changed := strings.Replace(strings.Replace(deployment, "matchLabels: {a: b}", "matchLabels: {a: c}", 1), "labels: {a: b}", "labels: {a: c}", 1)
	refusal := []finding.Finding{{Rule: "workload-value", Field: "spec.selector", Message: "field is immutable", RefusedByServer: true}}
	for name, c := range map[string]struct {
		validator verdict.Validator
		want      transition.Outcome
		denied    bool
	}{
		"no validation":                          {nil, transition.Recreate, false},
		"it refuses":                             {server{refuses: refusal, complete: true}, transition.Recreate, true},
		"it accepts, and knows the whole object": {server{complete: true}, transition.InPlace, false},
		"it accepts, and had to assume parts":    {server{}, transition.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "")
			f.Validator, f.Steps = c.validator, verdict.Validate|verdict.Compare
			was := object(t, old)
			v, err := verdict.Judge(t.Context(), object(t, changed), &was, f)
			if err != nil {
				t.Fatal(err)
			}
			outcomes := map[string]transition.Outcome{}
			for _, change := range v.Diff.Changes {
				outcomes[change.Path] = change.Outcome
			}
			if got, ok := outcomes["spec.selector.matchLabels[a]"]; !ok || got != c.want {
				t.Errorf("outcomes %v, want %v for the selector", outcomes, c.want)
			}
			if v.Denied != c.denied {
				t.Errorf("denied %v, want %v", v.Denied, c.denied)
			}
		})
	}
}

// TestJudge_UsherRows denies a change that usher refuses, as the table says.
func TestJudge_UsherRows(t *testing.T) {
	const cluster = `{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: e, namespace: team}, spec: {size: 3, version: VERSION}}`
	f := facts(t, "")
	f.Steps = verdict.Evaluate | verdict.Compare
	f.Levels.Enforce = finding.Invariant
	was := object(t, strings.Replace(cluster, "VERSION", "3.6.0", 1))
	v, err := verdict.Judge(t.Context(), object(t, strings.Replace(cluster, "VERSION", "3.4.0", 1)), &was, f)
	if err != nil {
		t.Fatal(err)
	}
	var sources []verdict.Source
	for _, found := range v.Effects(verdict.Denies) {
		sources = append(sources, found.Source)
	}
	if diff := cmp.Diff([]verdict.Source{verdict.FromTransition}, sources); diff != "" || !v.Denied {
		t.Errorf("denied %v for the sources (-want +got):\n%s", v.Denied, diff)
	}
}
