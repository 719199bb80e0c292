package policies_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// growing is a rule that was added in v0.1 and finds more since v0.3.
func growing() *policies.Rule {
	report := func(message string) func(*policies.Pass) {
		return func(p *policies.Pass) { p.Report(nil, nil, message) }
	}
	return &policies.Rule{
		ID: "growing", Level: finding.Invariant, Since: release.V(0, 1), Kinds: []string{"Pod"},
		Summary: "s", Harm: "h", Fix: "f", Check: report("always"),
		Stricter: []policies.Change{{Since: release.V(0, 3), What: "w", Check: report("since v0.3")}},
	}
}

func TestFindings_StateTheVersionThatFindsThem(t *testing.T) {
	e, err := policies.New(policies.Rules{growing()}, policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range e.Evaluate(e.Decode("v1", "Pod", []byte(`{}`)), policies.Input{}) {
		got[f.Message] = f.Since.String()
	}
	if diff := cmp.Diff(map[string]string{"always": "v0.1", "since v0.3": "v0.3"}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestRule_Validate(t *testing.T) {
	if err := growing().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*policies.Rule)
		want  string
	}{
		"no version":             {func(r *policies.Rule) { r.Since = release.Version{} }, "(Since)"},
		"stricter in no version": {func(r *policies.Rule) { r.Stricter[0].Since = release.Version{} }, "ascending"},
		"stricter as it came":    {func(r *policies.Rule) { r.Stricter[0].Since = r.Since }, "ascending"},
		"stricter without words": {func(r *policies.Rule) { r.Stricter[0].What = "" }, "description"},
		"an id with capitals":    {func(r *policies.Rule) { r.ID = "Growing" }, "kebab-case"},
		"no level":               {func(r *policies.Rule) { r.Level = finding.Off }, "level"},
		"no fix":                 {func(r *policies.Rule) { r.Fix = "" }, "fix"},
	} {
		r := growing()
		c.spoil(r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestServers_EndBeforeTheVersionThatMakesThemFalse(t *testing.T) {
	for _, c := range []struct {
		servers *policies.Servers
		server  *version.Version
		want    bool
	}{
		{nil, version.MajorMinor(1, 99), true},
		{policies.Tested(), version.MajorMinor(1, 99), true},
		{&policies.Servers{Before: 34}, version.MajorMinor(1, 33), true},
		{&policies.Servers{Before: 34}, version.MajorMinor(1, 34), false},
		{&policies.Servers{Before: policies.NewestServer + 1}, nil, true},
		{&policies.Servers{Before: policies.NewestServer}, nil, false},
	} {
		r := growing()
		r.Servers, r.Stricter = c.servers, nil
		e, err := policies.New(policies.Rules{r}, policies.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := e.Evaluate(e.Decode("v1", "Pod", []byte(`{}`)), policies.Input{Server: c.server})
		if got := len(found) == 1; got != c.want {
			t.Errorf("%v on %v: found is %t, want %t", c.servers, c.server, got, c.want)
		}
	}
}

// TestNewestServer_IsTheVersionThatTheTestsRun reads the version of the API
// server that the tests build.
func TestNewestServer_IsTheVersionThatTheTestsRun(t *testing.T) {
	module, err := os.ReadFile("../test/cluster/components/kubernetes/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("k8s.io/kubernetes v1.%d.", policies.NewestServer); !strings.Contains(string(module), want) {
		t.Errorf("the tests do not run %s…: set NewestServer to what they run", want)
	}
}
