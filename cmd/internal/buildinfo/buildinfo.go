// Package buildinfo says from which version of the source a program was built.
// It imports only the standard library, so that the smallest program can use it.
package buildinfo

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/usher-dev/usher/finding/release"
)

// The linker sets these for releases. Otherwise the Go toolchain's information
// about the module and its checkout applies.
var version, commit, date string

// Version returns the version of the running program: of its release, of the
// module that `go install` used, of its commit, or otherwise of the next
// release with the suffix -devel.
func Version() string { return running().version }

// Line describes the running program for users: its version, commit, date, Go
// version and platform.
func Line() string { return running().String() }

// build describes the origin of a program. Commit and date, in RFC 3339, are
// empty if unknown.
type build struct{ version, commit, date string }

func running() build {
	info, _ := debug.ReadBuildInfo()
	return known(build{version, commit, date}, info)
}

// known sets what the linker did not set. info may be nil.
func known(linked build, info *debug.BuildInfo) build {
	if linked.version != "" {
		return linked
	}
	b := build{version: release.Next + "-devel"}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.version = v
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified && b.commit != "" {
		b.commit += ", modified"
	}
	return b
}

func (b build) String() string {
	facts := []string{}
	if b.commit != "" {
		facts = append(facts, "commit "+b.commit)
	}
	if b.date != "" {
		facts = append(facts, b.date)
	}
	facts = append(facts, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return fmt.Sprintf("usher %s (%s)", b.version, strings.Join(facts, ", "))
}
