package buildinfo

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding/release"
)

func TestAProgramNamesItselfHoweverItWasBuilt(t *testing.T) {
	settings := func(pairs ...string) []debug.BuildSetting {
		var all []debug.BuildSetting
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	module := func(version string, pairs ...string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings(pairs...)}
	}
	for name, tc := range map[string]struct {
		linked build
		info   *debug.BuildInfo
		want   build
	}{
		"by the release": {
			build{"v0.2.0", "abc", "2026-01-02T03:04:05Z"}, module("(devel)", "vcs.revision", "other"), build{"v0.2.0", "abc", "2026-01-02T03:04:05Z"},
		},
		"by go install": {build{}, module("v0.2.1"), build{version: "v0.2.1"}},
		"in a checkout": {
			build{}, module("v0.0.0-20260102030405-abc", "vcs.revision", "abc", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false"),
			build{"v0.0.0-20260102030405-abc", "abc", "2026-01-02T03:04:05Z"},
		},
		"in a checkout with changes": {
			build{}, module("v0.0.0-20260102030405-abc+dirty", "vcs.revision", "abc", "vcs.modified", "true"),
			build{version: "v0.0.0-20260102030405-abc+dirty", commit: "abc, modified"},
		},
		"in a folder without git":     {build{}, module("(devel)"), build{version: release.Next + "-devel"}},
		"with -buildvcs=false":        {build{}, module("", "-buildmode", "exe"), build{version: release.Next + "-devel"}},
		"by a toolchain that is mute": {build{}, nil, build{version: release.Next + "-devel"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, known(tc.linked, tc.info), cmp.AllowUnexported(build{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
