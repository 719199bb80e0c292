package apiserver

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/servererrors"
	"github.com/usher-dev/usher/verdict"
)

var update = flag.Bool("update", false, "write what the server says of the deny fixtures into them")

// A fixture is a file of documents. Comments at its top select the server, and
// give its expected messages:
//
//	# server: 1.34
//	# features: A,B
//	# finding: spec.field: the message
type fixture struct {
	comments, body string
	server         *version.Version
	features       map[string]bool
	want           []string
}

var headerLine = regexp.MustCompile(`(?m)^# (server|features|finding): (.*)\n`)

func readFixture(t *testing.T, path string) fixture {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{body: headerLine.ReplaceAllString(string(text), "")}
	for _, m := range headerLine.FindAllStringSubmatch(string(text), -1) {
		switch m[1] {
		case "server":
			f.server = version.MustParseGeneric(m[2])
		case "features":
			f.features = map[string]bool{}
			for name := range strings.SplitSeq(m[2], ",") {
				f.features[name] = true
			}
		case "finding":
			f.want = append(f.want, m[2])
			continue
		}
		f.comments += m[0]
	}
	return f
}

// judge returns what the server refuses in the documents, by the ids of the
// explanations.
func (f *fixture) judge(t *testing.T) (ids, findings []string) {
	t.Helper()
	v, err := New(Options{Server: f.server, Features: f.features})
	if err != nil {
		t.Fatal(err)
	}
	defer reset(t, f.features)
	for doc := range strings.SplitSeq(f.body, "\n---\n") {
		raw := []byte(doc)
		if doc[0] != '{' { // YAML would drop duplicates
			var err error
			if raw, err = yaml.YAMLToJSON(raw); err != nil {
				t.Fatal(err)
			}
		}
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(raw, &head); err != nil || head.Kind == "" {
			t.Fatalf("a document without kind: %v", err)
		}
		for _, found := range v.Validate(verdict.Object{APIVersion: head.APIVersion, Kind: head.Kind, JSON: raw}, nil, &verdict.Facts{}) {
			if found.RefusedByServer {
				ids = append(ids, found.Rule)
				findings = append(findings, fmt.Sprintf("%s: %s", found.Field, strings.ReplaceAll(found.Message, "\n", " ")))
			}
		}
	}
	return ids, findings
}

// reset resets features, because the gates are global to the process.
func reset(t *testing.T, features map[string]bool) {
	t.Helper()
	off := map[string]bool{}
	for name := range features {
		off[name] = false
	}
	if _, err := New(Options{Features: off}); err != nil {
		t.Error(err)
	}
}

func TestEveryExplanationAllowsAndDeniesItsFixtures(t *testing.T) {
	for _, r := range servererrors.All() {
		t.Run(r.ID, func(t *testing.T) {
			for _, verdict := range []string{"allow", "deny"} {
				paths, err := filepath.Glob(filepath.Join("testdata", r.ID, verdict, "*.yaml"))
				if err != nil || len(paths) == 0 {
					t.Errorf("testdata/%s/%s holds no fixture (%v)", r.ID, verdict, err)
				}
				for _, path := range paths {
					f := readFixture(t, path)
					ids, got := f.judge(t)
					if verdict == "deny" && *update {
						f.want = got
						rewrite(t, path, &f)
					}
					if diff := cmp.Diff(f.want, got); diff != "" {
						t.Errorf("%s: refusals (-want +got):\n%s", path, diff)
					}
					if (verdict == "deny") != strings.Contains(strings.Join(ids, " ")+" ", r.ID+" ") {
						t.Errorf("%s: explained as %v: %v", path, ids, got)
					}
				}
			}
		})
	}
}

func rewrite(t *testing.T, path string, f *fixture) {
	t.Helper()
	text := f.comments
	for _, line := range f.want {
		text += "# finding: " + line + "\n"
	}
	if err := os.WriteFile(path, []byte(text+f.body), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryFixtureFolderBelongsToAnExplanation(t *testing.T) {
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !servererrors.Known(folder.Name()) {
			t.Errorf("testdata/%s belongs to no explanation", folder.Name())
		}
	}
}
