//go:build soak

package etcdsafety_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/usher-dev/usher/test/previous"
)

// failing are the tests that the previous release fails, with its mistake in
// each.
var failing = map[string]string{
	"TestMembersWhoseKubeletsAreDownAreKept/one_of_three": "the claims were",
	"TestMembersWhoseKubeletsAreDownAreKept/two_of_three": "the majority is said to be lost, and it answers",
	"TestMembersWhoseKubeletsAreDownAreKept/all":          "the majority is said to be lost, and it answers",
	"TestANodesClockIsNotBelieved":                        "the claims were",
	"TestAVersionThatDoesNotExistCostsNoMember":           "the claims were",
	"TestTheLastCopyIsNotEndedForAChange":                 "no pod is left that serves the data",
	"TestAMemberWhosePeerURLWasEditedIsKept":              "the pod of the member was deleted",
	"TestDataOutlivesUsher/the_cluster_is_deleted":        "what the cluster left",
	"TestDataOutlivesUsher/the_definition_is_deleted":     "what the cluster left",
	"TestDataOutlivesUsher/the_manifest_is_deleted":       "what the cluster left",
}

// TestThePreviousReleaseFailsTheStories runs them with the previous release: a
// test that no release fails proves nothing.
func TestThePreviousReleaseFailsTheStories(t *testing.T) {
	program, err := previous.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for name := range failing {
		test, _, _ := strings.Cut(name, "/")
		tests[test] = true
	}
	only := "-test.run=^(" + strings.Join(slices.Sorted(maps.Keys(tests)), "|") + ")$"
	stories := exec.CommandContext(t.Context(), os.Args[0], "-test.v", only)
	stories.Env = append(os.Environ(), "USHER_CONTROLLER="+program)
	out, err := stories.CombinedOutput()
	t.Logf("%s", out)
	if err == nil {
		t.Error("the release before passes")
	}
	for name, wrong := range failing {
		if !strings.Contains(string(out), "--- FAIL: "+name+" (") {
			t.Errorf("it does not fail %s", name)
		}
		if !strings.Contains(string(out), wrong) {
			t.Errorf("nothing says of %s: %s", name, wrong)
		}
	}
}
