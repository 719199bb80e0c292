// Package release compares versions of usher, in the form of rules and the
// configuration: vX.Y, or latest.
package release

import (
	"fmt"
	"strconv"
	"strings"
)

// Next is the release that this source will become, or is. CHANGELOG.md begins
// with it, and so does the chart.
const Next = "v0.2.0"

// A Version is a minor version of usher. The zero Version is "latest", newer
// than every other.
type Version struct{ Major, Minor int }

// V returns the version vX.Y.
func V(major, minor int) Version { return Version{Major: major, Minor: minor} }

// Parse parses vX.Y or latest.
func Parse(s string) (Version, error) {
	if s == "latest" {
		return Version{}, nil
	}
	major, minor, ok := strings.Cut(strings.TrimPrefix(s, "v"), ".")
	v := Version{number(major), number(minor)}
	if !ok || !strings.HasPrefix(s, "v") || v.Major < 0 || v.Minor < 0 || v == (Version{}) {
		return Version{}, fmt.Errorf("version %q is not of the form vX.Y or latest", s)
	}
	return v, nil
}

// number parses only digits: no sign, no leading zero.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(n) != s {
		return -1
	}
	return n
}

// Includes reports whether a rule set pinned at v contains what came with
// other.
func (v Version) Includes(other Version) bool {
	if v == (Version{}) {
		return true
	}
	return other.Major < v.Major || other.Major == v.Major && other.Minor <= v.Minor
}

func (v Version) String() string {
	if v == (Version{}) {
		return "latest"
	}
	return fmt.Sprintf("v%d.%d", v.Major, v.Minor)
}

// MarshalText returns the version in the form that Parse accepts.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Minor returns the minor version of a release such as v0.2.0, the zero Version
// if it is not one.
func Minor(release string) Version {
	v, err := Parse(release[:max(0, strings.LastIndex(release, "."))])
	if err != nil {
		return Version{}
	}
	return v
}
