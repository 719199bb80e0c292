package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// A Version is a released version of etcd. The zero value is not a version.
type Version struct{ Major, Minor, Patch int }

// DefaultVersion is the version if the spec does not set one.
const DefaultVersion = "3.6.16"

// newest lists the newest known patch of each supported minor version, in
// ascending order. Earlier versions have no reliable learners or are no longer
// maintained; the upgrade paths to later versions are unknown.
var newest = [...]Version{{3, 5, 35}, {3, 6, 16}, {3, 7, 3}}

// ZombieFix is the first 3.5 patch that may form a cluster with 3.6: before it,
// removed members can reappear.
var ZombieFix = Version{3, 5, 26}

// ReportsFormat is the first version whose members report the format of its data.
var ReportsFormat = Version{3, 6, 0}

// ParseVersion parses a released version such as 3.6.16; a leading v is
// ignored.
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	var v Version
	into := []*int{&v.Major, &v.Minor, &v.Patch}
	if len(parts) != len(into) {
		return Version{}, noVersion(s)
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || strconv.Itoa(n) != part || n < 0 || n > 9999 {
			return Version{}, noVersion(s)
		}
		*into[i] = n
	}
	if v.Major == 0 {
		return Version{}, noVersion(s)
	}
	return v, nil
}

func noVersion(s string) error {
	return fmt.Errorf("%q is not a released version of etcd: write three numbers, such as %s", s, DefaultVersion)
}

// ReadVersion parses the version that etcd reports, including "3.6"; it returns
// zero if it is invalid.
func ReadVersion(s string) Version {
	if strings.Count(s, ".") == 1 {
		s += ".0"
	}
	s, _, _ = strings.Cut(s, "-")
	v, err := ParseVersion(s)
	if err != nil {
		return Version{}
	}
	return v
}

func (v Version) String() string {
	if v == (Version{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// WithoutPatch returns the minor version, with the patch 0.
func (v Version) WithoutPatch() Version { return Version{Major: v.Major, Minor: v.Minor} }

// MarshalText returns the version's number.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Compare is negative, zero or positive if v is older than, the same as, or
// newer than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.CompareMinor(w), cmp.Compare(v.Patch, w.Patch))
}

// CompareMinor is Compare without the patch.
func (v Version) CompareMinor(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// Takes reports whether a cluster of version v can restore a backup of that
// version: of the same minor version, or of the previous one.
func (v Version) Takes(saved Version) bool {
	return v.Major == saved.Major && (v.Minor == saved.Minor || v.Minor == saved.Minor+1)
}

// Newest returns the newest known version.
func Newest() Version { return newest[len(newest)-1] }

// Known reports whether the version was released when usher was built: a later
// patch may exist, or be a typing error.
func (v Version) Known() bool {
	for _, n := range newest {
		if v.CompareMinor(n) == 0 {
			return v.Patch <= n.Patch
		}
	}
	return false
}

// Supported reports whether usher runs the version.
func (v Version) Supported() bool {
	for _, n := range newest {
		if v.CompareMinor(n) == 0 {
			return true
		}
	}
	return false
}

// Nearest returns the nearest supported version: the newest patch of the
// nearest minor version.
func (v Version) Nearest() Version {
	for _, n := range newest {
		if v.CompareMinor(n) <= 0 {
			return n
		}
	}
	return newest[len(newest)-1]
}

// Path returns the way from one version to another, up or down, ending with to: one
// minor version at a time, and with 3.5 next to 3.6 at a patch for which that is
// safe. It is empty if there is none, for unsupported versions.
func Path(from, to Version) []Version {
	if !from.Supported() || !to.Supported() {
		return nil
	}
	if to.CompareMinor(from) < 0 {
		path := append([]Version{to}, Path(to, from.Nearest())...)
		slices.Reverse(path)
		return path[1:]
	}
	var path []Version
	if from.Minor == ZombieFix.Minor && to.Minor > from.Minor && from.Compare(ZombieFix) < 0 {
		path = append(path, from.Nearest())
	}
	for _, n := range newest {
		if n.CompareMinor(from) > 0 && n.CompareMinor(to) < 0 {
			path = append(path, n)
		}
	}
	return append(path, to)
}

// Versions formats versions as a path.
func Versions(from Version, path []Version) string {
	words := []string{from.String()}
	for _, v := range path {
		words = append(words, v.String())
	}
	return strings.Join(words, " → ")
}

// Unsupported explains why a version is not supported, and names the nearest
// one that is.
func Unsupported(version string) string {
	v, err := ParseVersion(version)
	if err != nil {
		return "spec.version " + err.Error()
	}
	return fmt.Sprintf("spec.version is %s, which usher does not run: write %s", v, v.Nearest())
}

// WantedVersion returns the version of a spec, or zero if it is invalid.
func WantedVersion(spec *v1beta2.ClusterSpec) Version {
	if spec.Version == "" {
		return ReadVersion(DefaultVersion)
	}
	v, err := ParseVersion(spec.Version)
	if err != nil {
		return Version{}
	}
	return v
}

// Quorum returns how many of the voters must agree.
func Quorum(voters int) int { return voters/2 + 1 }
