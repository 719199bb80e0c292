package conformance

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cli/manifest"
)

// modules are Go modules with manifests of other people in them. Those of this
// module's own graph are there already; others, as path@version, are downloaded.
var modules = flag.String("modules", modulesWithManifests, "Go modules whose manifests are judged, separated by commas")

// perModule limits the manifests of a module in quick runs.
var perModule = flag.Int("per-module", manifestsOfAModule, "how many manifests of a module are judged")

// moduleFolder is where a module is unpacked.
func moduleFolder(t *testing.T, module string) string {
	t.Helper()
	args := []string{"list", "-m", "-json", module}
	if strings.Contains(module, "@") {
		args = []string{"mod", "download", "-json", module}
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil || m.Dir == "" {
		t.Fatalf("go %v says no folder: %v", args, err)
	}
	return m.Dir
}

// TestManifestsOfOthersAreJudgedAsTheServerJudgesThem sends manifests as their
// projects publish them. It skips what is not a manifest yet, such as a
// template.
func TestManifestsOfOthersAreJudgedAsTheServerJudgesThem(t *testing.T) {
	s := newScore("manifests")
	for module := range strings.SplitSeq(*modules, ",") {
		folder := moduleFolder(t, module)
		files, errs := manifest.Files([]string{folder})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var objects []object
		for _, file := range files {
			docs, _ := manifest.ReadTolerant(file, os.Stdin)
			for _, d := range docs {
				if d.IsObject() && len(objects) < *perModule && validator.Serves(d.APIVersion, d.Kind) && len(d.Duplicates) == 0 {
					objects = append(objects, describe(strings.TrimPrefix(file, folder), d.JSON))
				}
			}
		}
		for _, o := range judge(t, objects) {
			if !o.server.accepted && inTheWay(&o) {
				continue
			}
			s.add(o.kind, o.cause(), o.agrees(), o.server.accepted, func() string {
				said := o.server.message
				for _, f := range o.usher {
					said += "\nusher: " + f.String()
				}
				return module + o.from + "\nserver: " + said
			})
			if o.server.accepted && len(o.usher) > 0 {
				t.Errorf("%s%s: %s is refused, and the server accepts it: %v", module, o.from, o.kind, o.usher)
			}
		}
	}
	s.report(t, 99.8)
}

// ofTheCluster are the refusals that only a cluster can know: the reason, and
// part of the message.
var ofTheCluster = []struct{ reason, says string }{
	{"AlreadyExists", ""},                                      // an object of the name is there
	{"Forbidden", "no PriorityClass with name"},                // the class may come with other manifests
	{"Forbidden", "error looking up service account"},          // so may the account,
	{"Forbidden", "unable to create new content in namespace"}, // and the namespace may go
}

// inTheWay reports whether the server refuses an object because of other
// objects in the cluster.
func inTheWay(o *outcome) bool {
	return slices.ContainsFunc(ofTheCluster, func(c struct{ reason, says string }) bool {
		return o.server.cause == c.reason && strings.Contains(o.server.message, c.says)
	})
}
