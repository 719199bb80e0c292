package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Paths selects files below a folder.
type Paths struct {
	// Exclude are patterns of files and folders, relative to the configuration's
	// folder: * is any part of a name, ** any number of folders.
	Exclude []string `json:"exclude,omitempty"`
	// Policies are files and folders, relative to the configuration's folder, with
	// ValidatingAdmissionPolicies, their bindings and parameters, which apply to the
	// objects of every check.
	Policies []string `json:"policies,omitempty"`
}

// Excludes returns a function that reports whether a path, relative to the
// configuration's folder and with slashes, is excluded.
func (p Paths) Excludes() (func(path string) bool, error) {
	var patterns []*regexp.Regexp
	for _, glob := range p.Exclude {
		pattern, err := compile(glob)
		if err != nil {
			return nil, fmt.Errorf("%q is not a pattern: %w", glob, err)
		}
		patterns = append(patterns, pattern)
	}
	return func(path string) bool {
		for _, pattern := range patterns {
			if pattern.MatchString(path) {
				return true
			}
		}
		return false
	}, nil
}

// compile converts a pattern to a regular expression, which also matches
// everything below a matching folder.
func compile(glob string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("^")
	for rest := strings.Trim(glob, "/"); rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(.*/)?")
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString("[^/]*")
			rest = rest[1:]
		case rest[0] == '?':
			b.WriteString("[^/]")
			rest = rest[1:]
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			rest = rest[1:]
		}
	}
	b.WriteString("(/.*)?$")
	return regexp.Compile(b.String())
}
