package etcd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// A Version is a released version of etcd. The zero value is none.
type Version struct{ Major, Minor, Patch int }

// DefaultVersion is run where none is asked for.
const DefaultVersion = "3.6.16"

// newest are the newest patches known of each minor version that is run, in
// their order. Older ones have no learners that can be relied on, or nobody
// who maintains them; of newer ones it is not known what leads to them.
var newest = [...]Version{{3, 5, 35}, {3, 6, 16}, {3, 7, 3}}

// ZombieFix is the first 3.5 from which 3.6 may be gone to: before it members
// that were removed can come back to life on the upgrade.
var ZombieFix = Version{3, 5, 26}

// ParseVersion reads a released version such as 3.6.16; a leading v is ignored.
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
	return fmt.Errorf("%q is no released version of etcd: write three numbers, such as %s", s, DefaultVersion)
}

// ReadVersion reads what etcd says of itself, "3.6" too; zero where it is not a
// version.
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

// MarshalText writes the version's number.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Compare is negative, zero or positive where v is older than, the same as, or
// newer than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.CompareMinor(w), cmp.Compare(v.Patch, w.Patch))
}

// CompareMinor is Compare without the patch.
func (v Version) CompareMinor(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// Takes says whether a cluster of version v takes a backup of that version: of
// the same minor version, or of the one before.
func (v Version) Takes(saved Version) bool {
	return v.Major == saved.Major && (v.Minor == saved.Minor || v.Minor == saved.Minor+1)
}

// Newest is the newest version known of all.
func Newest() Version { return newest[len(newest)-1] }

// Known says whether the version is in the list of those that were released when
// this was built: a later patch may exist, or be a typing error.
func (v Version) Known() bool {
	for _, n := range newest {
		if v.CompareMinor(n) == 0 {
			return v.Patch <= n.Patch
		}
	}
	return false
}

// Supported says whether the version is run.
func (v Version) Supported() bool {
	for _, n := range newest {
		if v.CompareMinor(n) == 0 {
			return true
		}
	}
	return false
}

// Nearest is the supported version to have instead: the newest patch of the
// nearest minor.
func (v Version) Nearest() Version {
	for _, n := range newest {
		if v.CompareMinor(n) <= 0 {
			return n
		}
	}
	return newest[len(newest)-1]
}

// Path returns the versions that lead from one to the other, the last being
// to: one minor at a time, and 3.5 at a patch that 3.6 may follow. It is empty
// where none does: downwards, and to or from what is not run.
func Path(from, to Version) []Version {
	if !from.Supported() || !to.Supported() || to.Compare(from) < 0 {
		return nil
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

// Versions writes versions as a way from one to the next.
func Versions(from Version, path []Version) string {
	words := []string{from.String()}
	for _, v := range path {
		words = append(words, v.String())
	}
	return strings.Join(words, " → ")
}

// Unsupported says why a version is not run, and names the nearest that is.
func Unsupported(version string) string {
	v, err := ParseVersion(version)
	if err != nil {
		return "spec.version " + err.Error()
	}
	return fmt.Sprintf("spec.version is %s, which is not run: write %s", v, v.Nearest())
}

// WantedVersion is the version of a spec, zero where it is not one.
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

// Quorum is how many of the voters must agree.
func Quorum(voters int) int { return voters/2 + 1 }
