package drift_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/injector/decision"
)

// TestCount counts a pod as missing only if the next one gets the template, or is
// denied.
func TestCount(t *testing.T) {
	i := newInstallation(t, "")
	ns := i.namespace(t, nil)
	i.apply(t, ns,
		injected("current", version(t, current), "example.com/side:2"),
		injected("outdated", version(t, older), "example.com/side:1"),
		injected("outdated-too", version(t, older), "example.com/side:1"),
		pod("missing", asks, ""),
		pod("silent", "", ""),
		pod("present", asks, `, {name: side, image: "example.com/side:2"}`),
		pod("conflicts", asks, `, {name: side, image: "example.com/other"}`),
		strings.Replace(pod("host", asks, ""), "spec: {", "spec: {hostNetwork: true, ", 1),
		pod("unknown", `inject.usher.dev/nowhere: "true"`, ""),
	)
	served, err := labels.Parse("served=yes")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		serves decision.Scope
		want   map[string]drift.Counted
	}{
		"of a namespace":                   {decision.Scope{ReleaseNamespace: i.own}, map[string]drift.Counted{"side": {Current: 1, Outdated: 2, Missing: 2}, "nowhere": {Missing: 1}}},
		"of one that usher does not serve": {decision.Scope{ReleaseNamespace: i.own, Selector: served}, map[string]drift.Counted{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := drift.Count(t.Context(), i.connect(t), drift.Scope{Namespace: ns}, tt.serves)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
