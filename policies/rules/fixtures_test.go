package rules

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
)

var update = flag.Bool("update", false, "write the findings of the deny fixtures into them")

// A fixture is a file of documents that are visible to each other. Comments at
// its top give the input of the evaluation and the expected findings:
//
//	# server: 1.30
//	# features: A,B
//	# defaulted: true
//	# partial: true
//	# finding: spec.field: the message
type fixture struct {
	path     string
	comments string
	body     string
	input    policies.Input
	want     []string
	objects  []*policies.Object
	partial  bool // what is deployed together is not known
}

var headerLine = regexp.MustCompile(`(?m)^# (server|features|defaulted|partial|finding): (.*)\n`)

func readFixture(t *testing.T, e *policies.Evaluator, path string) *fixture {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{path: path, body: headerLine.ReplaceAllString(string(text), "")}
	for _, m := range headerLine.FindAllStringSubmatch(string(text), -1) {
		switch m[1] {
		case "server":
			f.input.Server = version.MustParseGeneric(m[2])
		case "features":
			f.input.Features = map[string]bool{}
			for name := range strings.SplitSeq(m[2], ",") {
				f.input.Features[name] = true
			}
		case "defaulted":
			f.input.Defaulted = m[2] == "true"
		case "partial":
			f.partial = m[2] == "true"
		case "finding":
			f.want = append(f.want, m[2])
			continue
		}
		f.comments += m[0]
	}
	for _, doc := range strings.Split(f.body, "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal(raw, &head); err != nil || head.Kind == "" {
			t.Fatalf("%s holds a document without kind: %v", path, err)
		}
		f.objects = append(f.objects, e.Decode(head.APIVersion, head.Kind, raw))
	}
	f.input.Lister = f
	return f
}

// List implements policies.Lister.
func (f *fixture) List(kind, namespace string) (found []*policies.Object, unseen string) {
	for _, o := range f.objects {
		if o.Kind == kind && o.Decodable() && (namespace == policies.Everywhere || o.Meta.Namespace == namespace) {
			found = append(found, o)
		}
	}
	return found, ""
}

// Index implements policies.Lister.
func (f *fixture) Index(kind, namespace string) (*related.Index, string) {
	found, unseen := f.List(kind, namespace)
	return policies.IndexOf(slices.Values(found)), unseen
}

// Get implements policies.Lister.
func (f *fixture) Get(kind, namespace, name string) (*policies.Object, string) {
	found, _ := f.List(kind, namespace)
	for _, o := range found {
		if o.Meta.Name == name {
			return o, ""
		}
	}
	return nil, ""
}

// Whole implements policies.Unit.
func (f *fixture) Whole() bool { return !f.partial }

// Selected implements policies.Unit.
func (f *fixture) Selected(by labels.Selector, namespace string) iter.Seq[*policies.Object] {
	return func(yield func(*policies.Object) bool) {
		for _, o := range f.objects {
			if len(o.Templates) > 0 && o.Meta.Namespace == namespace && by.Matches(labels.Set(o.Templates[0].Meta.Labels)) && !yield(o) {
				return
			}
		}
	}
}

// SelectedElsewhere implements policies.Unit: there is nothing else.
func (f *fixture) SelectedElsewhere(labels.Selector, string) bool { return false }

// PodLabels implements policies.Unit.
func (f *fixture) PodLabels(key string) (values []string) {
	for _, o := range f.objects {
		for i := range o.Templates {
			if value, ok := o.Templates[i].Meta.Labels[key]; ok {
				values = append(values, value)
			}
		}
	}
	return values
}

// Named implements policies.Unit.
func (f *fixture) Named(kind, namespace, name string) []*policies.Object {
	if o, _ := f.Get(kind, namespace, name); o != nil {
		return []*policies.Object{o}
	}
	return nil
}

// Has implements policies.Unit.
func (f *fixture) Has(kind string) bool { return len(f.Names(kind)) > 0 }

// HasPods implements policies.Unit.
func (f *fixture) HasPods() bool {
	return slices.ContainsFunc(f.objects, func(o *policies.Object) bool { return len(o.Templates) > 0 })
}

// Names implements policies.Unit.
func (f *fixture) Names(kind string) (names []string) {
	found, _ := f.List(kind, policies.Everywhere)
	for _, o := range found {
		names = append(names, o.Meta.Name)
	}
	return names
}

func (f *fixture) findings(e *policies.Evaluator) []finding.Finding {
	var all []finding.Finding
	for _, o := range f.objects {
		all = append(all, e.Evaluate(o, f.input)...)
	}
	return all
}

func (f *fixture) rewrite(got []string) error {
	var b strings.Builder
	b.WriteString(f.comments)
	for _, line := range got {
		fmt.Fprintf(&b, "# finding: %s\n", line)
	}
	return os.WriteFile(f.path, []byte(b.String()+f.body), 0o644)
}

func TestEveryRuleAllowsAndDeniesItsFixtures(t *testing.T) {
	for _, r := range All() {
		t.Run(r.ID, func(t *testing.T) {
			e, err := New(policies.Options{Only: []string{r.ID}})
			if err != nil {
				t.Fatal(err)
			}
			for _, verdict := range []string{"allow", "deny"} {
				paths, err := filepath.Glob(filepath.Join("testdata", r.ID, verdict, "*.yaml"))
				if err != nil || len(paths) == 0 {
					t.Errorf("testdata/%s/%s holds no fixture (%v)", r.ID, verdict, err)
				}
				for _, path := range paths {
					f := readFixture(t, e, path)
					var got []string
					for _, finding := range f.findings(e) {
						got = append(got, finding.Field+": "+finding.Message)
					}
					if verdict == "deny" && *update {
						if err := f.rewrite(got); err != nil {
							t.Fatal(err)
						}
						f.want = got
					}
					if diff := cmp.Diff(f.want, got); diff != "" || (verdict == "deny") != (len(got) > 0) {
						t.Errorf("%s: findings (-want +got):\n%s", path, diff)
					}
				}
			}
		})
	}
}

func TestEveryFixtureFolderBelongsToARule(t *testing.T) {
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if _, err := Lookup(folder.Name()); err != nil {
			t.Errorf("testdata/%s belongs to no rule", folder.Name())
		}
	}
}

// shared are the files with objects that several rules use.
var shared = []string{"amount.go", "checks.go", "others.go", "pod_security.go", "references.go", "rollout.go", "rules.go", "selector.go", "wording.go"}

func TestEveryFileIsARuleOfItsNameOrShared(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range All() {
		name := strings.ReplaceAll(r.ID, "-", "_") + ".go"
		want = append(want, name)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("the rule %s is not in a file of its name: %v", r.ID, err)
			continue
		}
		if !strings.Contains(string(text), "\n// "+r.ID+": ") {
			t.Errorf("%s does not begin its specification with %q", name, "// "+r.ID+": ")
		}
	}
	want = append(want, shared...)
	slices.Sort(want)
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files that register no rule, or rules without a file (-registered +files):\n%s", diff)
	}
}

func TestMessagesArePredicatesWithoutAFullStop(t *testing.T) {
	e, err := New(policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("testdata/*/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		for _, f := range readFixture(t, e, path).findings(e) {
			if strings.HasSuffix(f.Message, ".") || strings.Contains(f.Message, "  ") || f.Message == "" {
				t.Errorf("%s: %s: %q", path, f.Rule, f.Message)
			}
		}
	}
	for _, r := range All() {
		for _, text := range []string{r.Summary, r.Harm, r.Fix} {
			if strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q ends with a full stop", r.ID, text)
			}
		}
	}
}
