package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/finding/release"
)

// The linker sets these for releases. Otherwise the Go toolchain's information
// about the module and its checkout applies.
var version, commit, date string

// Version returns the version of the running program: of its release, of the
// module that `go install` used, of its commit, or otherwise of the next
// release with the suffix -devel.
func Version() string { return running().version }

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

// NewVersion returns the command that prints the version.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print usher's version, and the commit and Go version it was built from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), running())
			return err
		},
	}
}
