package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/policies"
)

// ofKubernetes finds statements about what Kubernetes does.
var ofKubernetes = regexp.MustCompile(`API server(?:'s| \w)|controller(?:'s| \w)|Kubernetes 1\.|feature gate`)

var comment = regexp.MustCompile(`//.*`)

// TestEveryStatementAboutKubernetesNamesItsVersions reads the sources of the
// rules about built-in kinds, without their comments.
func TestEveryStatementAboutKubernetesNamesItsVersions(t *testing.T) {
	for _, r := range All() {
		source, err := os.ReadFile(strings.ReplaceAll(r.ID, "-", "_") + ".go")
		if err != nil {
			t.Fatal(err)
		}
		own := strings.HasPrefix(r.ID, "etcd-") || strings.HasPrefix(r.ID, "backup-") || strings.HasPrefix(r.ID, "restore-") || strings.HasPrefix(r.ID, "network-")
		if said := ofKubernetes.FindString(comment.ReplaceAllString(string(source), "")); said != "" && r.Servers == nil && !own {
			t.Errorf("%s says %q, and does not name the versions (Servers) for which that is true", r.ID, said)
		}
	}
}

// TestRulesAboutKubernetesKnowWhichServersTheyDoNotKnow evaluates the rules'
// fixtures with findings for a newer server.
func TestRulesAboutKubernetesKnowWhichServersTheyDoNotKnow(t *testing.T) {
	newer := version.MajorMinor(1, policies.NewestServer+1)
	seen := 0
	for _, r := range All() {
		e, err := New(policies.Options{Only: []string{r.ID}})
		if err != nil {
			t.Fatal(err)
		}
		paths, err := filepath.Glob("testdata/" + r.ID + "/deny/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			f := readFixture(t, e, path)
			f.input.Server = newer
			for _, found := range f.findings(e) {
				seen++
				if found.Untested != (r.Servers != nil) {
					t.Errorf("%s: untested is %t on Kubernetes %s, want %t", path, found.Untested, newer, r.Servers != nil)
				}
				if r.Servers != nil && r.Servers.Before > 0 && r.Servers.Before <= newer.Minor() {
					t.Errorf("%s: a finding on Kubernetes %s, want none from 1.%d on", path, newer, r.Servers.Before)
				}
			}
			f.input.Server = version.MajorMinor(1, policies.NewestServer)
			for _, found := range f.findings(e) {
				if found.Untested {
					t.Errorf("%s: untested on Kubernetes %s", path, f.input.Server)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d findings: too few to tell", seen)
	}
}
