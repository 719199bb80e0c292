package transition_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies/transition"
)

func TestTheDocumentIsGeneratedFromTheTable(t *testing.T) {
	const file = "../../docs/transitions.md"
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(transition.Markdown(transition.All().Kinds()), string(got)); diff != "" {
		t.Errorf("%s is stale; run: usher transitions -o markdown > docs/transitions.md\n%s", file, diff)
	}
}

func TestATableRefusesRowsThatContradictThemselves(t *testing.T) {
	good := transition.Row{ID: "x", Paths: []string{"spec.x"}, When: "x changes", Outcome: transition.InPlace}
	edit := func(f func(*transition.Row)) transition.Row {
		row := good
		f(&row)
		return row
	}
	tests := map[string]struct {
		rows []transition.Row
		want string
	}{
		"a row that says all it must":           {rows: []transition.Row{good}},
		"an id twice":                           {rows: []transition.Row{good, good}, want: "twice"},
		"an id in other words":                  {rows: []transition.Row{edit(func(r *transition.Row) { r.ID = "Not Kebab" })}, want: "kebab-case"},
		"no path":                               {rows: []transition.Row{edit(func(r *transition.Row) { r.Paths = nil })}, want: "no path"},
		"no condition in words":                 {rows: []transition.Row{edit(func(r *transition.Row) { r.When = "" })}, want: "no condition"},
		"an unknown outcome":                    {rows: []transition.Row{edit(func(r *transition.Row) { r.Outcome = "maybe" })}, want: "no outcome"},
		"recreate without harm":                 {rows: []transition.Row{edit(func(r *transition.Row) { r.Outcome = transition.Recreate })}, want: "without harm"},
		"recreate without a recipe":             {rows: []transition.Row{edit(func(r *transition.Row) { r.Outcome, r.Harm = transition.Recreate, "hurts" })}, want: "without steps"},
		"refused by the server below invariant": {rows: []transition.Row{edit(func(r *transition.Row) { r.RefusedBy, r.Level = transition.Server, finding.Strict })}, want: "invariant"},
		"a level at which nobody refuses":       {rows: []transition.Row{edit(func(r *transition.Row) { r.Level = finding.Strict })}, want: "wants the other"},
		"a version that is none":                {rows: []transition.Row{edit(func(r *transition.Row) { r.Since = "soon" })}, want: "not a Kubernetes version"},
		"refused by usher since no version": {rows: []transition.Row{edit(func(r *transition.Row) {
			r.RefusedBy, r.Level = transition.Usher, finding.Baseline
		})}, want: "(Release)"},
		"refused by usher at no level whatsoever": {rows: []transition.Row{edit(func(r *transition.Row) { r.RefusedBy = transition.Usher })}, want: "wants the other"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := transition.New(transition.Kind{APIVersion: "v1", Kind: "X", Rows: tc.rows})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want an error about %q", err, tc.want)
			}
		})
	}
}

func TestOtherKindsJoinTheTable(t *testing.T) {
	table, err := transition.New(append(transition.Builtin(), transition.Kind{
		APIVersion: "example.com/v1", Kind: "Cluster",
		Rows: []transition.Row{
			transition.Row{
				ID: "cluster-shrink", Paths: []string{"spec.size"}, When: "the size shrinks below a quorum",
				Outcome: transition.Refused, RefusedBy: transition.Usher, Release: release.V(0, 1), Level: finding.Invariant,
				Harm: "loses the quorum", Steps: []string{"shrink {name} one member at a time"},
			}.If(func(m *transition.FieldChange) bool { return m.To == int64(1) && m.From == int64(3) }),
			transition.Row{
				ID: "cluster-two-at-once", Paths: []string{"."}, When: "size and version change together",
				Outcome: transition.InSteps, Harm: "mixes two rollouts", Steps: []string{"change one, wait, change the other"},
			}.If(func(m *transition.FieldChange) bool {
				was, will := m.Old["spec"].(map[string]any), m.New["spec"].(map[string]any)
				return was["size"] != will["size"] && was["version"] != will["version"]
			}),
		},
		Defaults: []transition.Default{{Path: "spec", Outcome: transition.Rollout}},
	})...)
	if err != nil {
		t.Fatal(err)
	}
	diff, err := table.Compare(
		[]byte(`{"apiVersion":"example.com/v1","kind":"Cluster","metadata":{"name":"c"},"spec":{"size":3,"version":"3.5","pod":{"a":[1]}}}`),
		[]byte(`{"apiVersion":"example.com/v1","kind":"Cluster","metadata":{"name":"c"},"spec":{"size":1,"version":"3.6","pod":{"a":[2]}}}`),
		transition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range diff.Changes {
		got = append(got, c.Path+" "+c.Row+" "+string(c.Outcome)+" "+strings.Join(c.Steps, ";"))
	}
	want := []string{
		"spec.pod.a  rollout ",
		"spec.size cluster-shrink refused shrink c one member at a time",
		"spec.version  rollout ",
		". cluster-two-at-once in steps change one, wait, change the other",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
